//! What connections share, and what follows for the ACKs made for one of them.

use lasthop_agent::{Obligation, Room};
use lasthop_packet::{FlowKey, Instant, Packet, Seq};

use super::flow::LleFlow;
use super::settings::Settings;

/// What a flow has a share of.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    /// The memory that may still be taken.
    pub(super) room: Room,
    /// Octets that are free in the queue behind, and the flows that share them.
    pub(super) free: u64,
    pub(super) queueing: u32,
}

impl Shares {
    /// One flow's share of what is free in the queue. The paper has all of it in every ACK; that is
    /// so for a flow that is alone.
    pub(super) fn of_queue(self) -> u32 {
        let share = self.free / u64::from(self.queueing.max(1));
        u32::try_from(share).unwrap_or(u32::MAX)
    }
}

/// What a flow takes up.
#[derive(Clone, Copy, Default)]
pub(super) struct Account {
    /// Octets of memory.
    pub(super) octets: usize,
    pub(super) queued: u32,
    pub(super) owes: bool,
    pub(super) obligation: Obligation,
}

impl Account {
    pub(super) fn of(flow: &LleFlow) -> Self {
        Self {
            octets: flow.allocated(),
            queued: flow.confirming.queued(),
            owes: flow.receiving.owes(),
            obligation: flow.obligation(),
        }
    }
}

/// An ACK of everything that the link layer delivered, in the receiver's name. `latest` is where it
/// delivered something beyond a hole just now.
pub(super) fn acknowledgment(
    flow: &mut LleFlow,
    key: FlowKey,
    (settings, shares): (&Settings, Shares),
    latest: Option<(Seq, Seq)>,
    now: Instant,
) -> Option<Packet> {
    let shift = flow.radio_shift()?;
    let (ack, echo) = flow.confirming.acknowledge(now)?;
    let window = flow.confirming.window(&flow.receiver, settings, shares.of_queue());
    let mut packet = flow.receiver.ack(key, ack, echo, on_wire(window, shift));
    if flow.is_selective(settings)
        && let Some(tcp) = packet.tcp_mut()
    {
        tcp.options.sack = flow.confirming.blocks(latest);
    }
    Some(packet)
}

/// Has a packet of the receiver's say what was acknowledged, and the window from there.
pub(super) fn restate(packet: &mut Packet, flow: &mut LleFlow, settings: &Settings, shares: Shares) {
    let (Some(shift), Some(told)) = (flow.radio_shift(), flow.confirming.told) else { return };
    let window = flow.confirming.window(&flow.receiver, settings, shares.of_queue());
    if let Some(tcp) = packet.tcp_mut() {
        (tcp.ack, tcp.window) = (told.acknowledged, on_wire(window, shift));
    }
}

/// A window as on the wire: never more than it is.
pub(super) fn on_wire(octets: u32, shift: u8) -> u16 {
    u16::try_from(octets >> shift).unwrap_or(u16::MAX)
}

/// A window as on the wire: never less than it is. A sender that is told of less than a segment
/// waits until its persist timer expires (RFC 9293, section 3.8.6.2.1).
pub(super) fn on_wire_in_full(octets: u32, shift: u8) -> u16 {
    u16::try_from(octets.div_ceil(1 << shift)).unwrap_or(u16::MAX)
}
