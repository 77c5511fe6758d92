//! A model that follows the clock of kernels in simulated time. It has the hosts of an emulation at its ends, reads no
//! clock of its own, and starts no thread.

use lasthop_packet::Instant;
use lasthop_sim::{NodeId, World};

use super::border::Border;
use super::end::Peer;
use super::framing::{Framing, LONGEST_FRAME};
use super::summary::Summary;

/// The place of a host's network device in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The external node that represents the host.
    pub node: NodeId,
    /// Where its packets go.
    pub peer: Peer,
    /// The frames of its device.
    pub framing: Framing,
}

/// A model with hosts at its ends. It starts at the world's time; all times here are the model's.
pub struct Stepped {
    border: Border,
    /// By end.
    framings: Vec<Framing>,
    /// A frame that is made; its memory is kept.
    frame: Vec<u8>,
}

impl Stepped {
    /// A model with a host at each of these places.
    pub fn new(world: World, ends: &[Attachment]) -> Self {
        Self {
            border: Border::new(world, ends.iter().map(|end| (end.node, end.peer)).collect()),
            framings: ends.iter().map(|end| end.framing).collect(),
            frame: Vec::with_capacity(LONGEST_FRAME),
        }
    }

    /// The time of the next event.
    pub fn next_event(&self) -> Option<Instant> {
        self.border.next_event()
    }

    /// Processes the events up to `now`. `send` has the end and the octets of each frame for a host.
    pub fn advance(&mut self, now: Instant, send: impl FnMut(usize, &[u8])) {
        self.border.world().advance_to(now);
        self.hand_out(now, send);
    }

    /// Takes a frame of the host at an end. `send` has the frames for hosts that arrive at once.
    pub fn take(&mut self, now: Instant, end: usize, frame: &[u8], send: impl FnMut(usize, &[u8])) {
        let Some(framing) = self.framings.get(end) else { return };
        self.border.world().advance_to(now);
        self.border.take(end, framing.open(frame));
        self.hand_out(now, send);
    }

    fn hand_out(&mut self, now: Instant, mut send: impl FnMut(usize, &[u8])) {
        let Self { border, framings, frame } = self;
        border.hand_out(
            || now,
            |end, packet| {
                let Some(header) = framings[end].header(packet) else { return false };
                frame.clear();
                frame.extend_from_slice(header.octets());
                frame.extend_from_slice(packet);
                send(end, frame);
                true
            },
        );
    }

    /// Calls `work` with the world, between events.
    pub fn with_world<R>(&mut self, work: impl FnOnce(&mut World) -> R) -> R {
        work(self.border.world())
    }

    /// The summary so far.
    pub fn summary(&self) -> Summary {
        self.border.summary(Vec::new())
    }
}
