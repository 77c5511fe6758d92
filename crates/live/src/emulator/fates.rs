//! What link layers learn of their frames, for agents that are not in the world: a gateway in this process.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use lasthop_agent::{Fate, LinkEvent};
use lasthop_packet::{Instant, Packet};
use lasthop_sim::{Interest, LinkId, NodeId, Observer, TraceEvent};

/// What a link layer learned of one frame: a [`LinkEvent::Frame`] that can be sent.
#[derive(Clone, Debug)]
pub struct FateOfFrame {
    /// When, on the model's clock.
    pub at: Instant,
    /// The link.
    pub link: LinkId,
    /// The node that transmitted the frame.
    pub from: NodeId,
    /// The packet in the frame; a cheap copy.
    pub packet: Packet,
    /// What became of it.
    pub fate: Fate,
    /// See [`LinkEvent::Frame`].
    pub transmissions: u32,
    /// See [`LinkEvent::Frame`].
    pub queueing: Duration,
    /// See [`LinkEvent::Frame`].
    pub access: Option<Duration>,
    /// See [`LinkEvent::Frame`].
    pub air_time: Duration,
}

impl FateOfFrame {
    /// As an agent hears of it.
    pub const fn event(&self) -> LinkEvent<'_> {
        LinkEvent::Frame {
            packet: &self.packet,
            fate: self.fate,
            transmissions: self.transmissions,
            queueing: self.queueing,
            access: self.access,
            air_time: self.air_time,
        }
    }
}

/// Tells without waiting: the model's clock does not stand still for a listener that is slow or gone.
pub(super) struct Teller(SyncSender<FateOfFrame>);

pub(super) fn channel(room: usize) -> (Teller, Receiver<FateOfFrame>) {
    let (sender, receiver) = sync_channel(room.max(1));
    (Teller(sender), receiver)
}

impl Observer for Teller {
    fn interest(&self) -> Interest {
        Interest::FATES
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        let TraceEvent::FrameFate { link, from, event } = *event else { return };
        let LinkEvent::Frame { packet, fate, transmissions, queueing, access, air_time } = event;
        let packet = packet.clone();
        // Full or gone: the fate is lost, as the documentation of `fates_of_frames` says.
        let _ = self.0.try_send(FateOfFrame {
            at: now,
            link,
            from,
            packet,
            fate,
            transmissions,
            queueing,
            access,
            air_time,
        });
    }
}
