//! What connections share, and the ACKs generated for one of them.

use lasthop_agent::{Obligation, Room};
use lasthop_packet::{FlowKey, Instant, Packet, Seq};

use super::flow::LleFlow;
use super::settings::Settings;

/// The resources that a flow has a share of.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    /// The remaining memory.
    pub(super) room: Room,
    /// Free octets in the queue downstream, and the flows that share them.
    pub(super) free: u64,
    pub(super) queueing: u32,
}

impl Shares {
    /// One flow's share of the free room in the queue. In the paper every ACK has all of it, as
    /// here for a single flow.
    pub(super) fn of_queue(self) -> u32 {
        let share = self.free / u64::from(self.queueing.max(1));
        u32::try_from(share).unwrap_or(u32::MAX)
    }
}

/// The resources of a flow.
#[derive(Clone, Copy, Default)]
pub(super) struct Account {
    /// Octets of memory.
    pub(super) octets: usize,
    pub(super) queued: u32,
    pub(super) owes: bool,
    pub(super) obligation: Obligation,
}

impl Account {
    pub(super) fn from_flow(flow: &LleFlow) -> Self {
        Self {
            octets: flow.allocated(),
            queued: flow.confirming.queued(),
            owes: flow.receiving.owes(),
            obligation: flow.obligation(),
        }
    }
}

/// An ACK of all data that the link layer delivered, in the receiver's name. `latest` is the range
/// that it just delivered above a hole, if any.
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

/// Sets the acknowledged number in a packet of the receiver, and the window from there.
pub(super) fn restate(packet: &mut Packet, flow: &mut LleFlow, settings: &Settings, shares: Shares) {
    let (Some(shift), Some(progress)) = (flow.radio_shift(), flow.confirming.progress) else { return };
    let window = flow.confirming.window(&flow.receiver, settings, shares.of_queue());
    if let Some(tcp) = packet.tcp_mut() {
        (tcp.ack, tcp.window) = (progress.acknowledged, on_wire(window, shift));
    }
}

/// A window as a field value, rounded down.
pub(super) fn on_wire(octets: u32, shift: u8) -> u16 {
    u16::try_from(octets >> shift).unwrap_or(u16::MAX)
}

/// A window as a field value, rounded up. A sender with less than a segment waits until its persist
/// timer expires (RFC 9293, section 3.8.6.2.1).
pub(super) fn on_wire_in_full(octets: u32, shift: u8) -> u16 {
    u16::try_from(octets.div_ceil(1 << shift)).unwrap_or(u16::MAX)
}
