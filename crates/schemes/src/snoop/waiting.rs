//! The packets of a connection that wait for room in the local window.

use std::time::Duration;

use lasthop_agent::PacketQueue;
use lasthop_hop::last_hop::{LastHop, LossFreeRun};
use lasthop_packet::{Instant, Packet, Seq, Sizes};

use super::segmentation::take_front;

/// After a sender has answered a congestion signal, no other packet is dropped for this time, or
/// for as long as the answer took, if that is longer: a sender takes a round trip to reduce its
/// window to half. A second signal before that would halve it again.
const MIN_PAUSE: Duration = Duration::from_millis(100);

/// The number of consecutive unheeded signals after which the pause does not grow any more.
const MAX_UNHEEDED: u32 = 8;

/// The time after which a signal without an answer is repeated.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Waiting packets, in order, and the last congestion signal.
#[derive(Debug, Default)]
pub struct Waiting {
    packets: PacketQueue,
    signal: Option<Signal>,
}

/// A congestion signal: a packet that was dropped to slow the sender down.
#[derive(Clone, Copy, Debug)]
struct Signal {
    /// Its sequence number.
    seq: Seq,
    /// The time of the drop.
    at: Instant,
    /// Octets that waited then.
    waiting: usize,
    /// Whether fewer octets have waited since the sender answered.
    is_heeded: bool,
    /// The number of consecutive unheeded signals before this one.
    unheeded: u32,
    /// When the sender retransmitted it, and the end of all data that it had sent before: it slows
    /// down from there on.
    answered: Option<(Instant, Seq)>,
}

/// How much of the first waiting packet is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Portion {
    octets: u32,
    is_whole: bool,
}

impl Waiting {
    /// The packets, in order.
    pub const fn packets(&self) -> &PacketQueue {
        &self.packets
    }

    /// Whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The time of the last signal: see [`lasthop_agent::Agent::prefetch`].
    pub fn signaled_at(&self) -> Option<Instant> {
        self.signal.map(|signal| signal.at)
    }

    /// Adds a packet at the end.
    pub fn push(&mut self, packet: Packet, sizes: Sizes) {
        self.packets.push_back(packet, sizes);
    }

    /// Removes the first packet.
    pub fn pop(&mut self) -> Option<Packet> {
        self.packets.pop_front()
    }

    /// Removes all packets. Returns their number.
    pub fn clear(&mut self) -> usize {
        std::mem::take(&mut self.packets).len()
    }

    /// How much of the first packet there is room for.
    #[inline]
    pub fn portion(&self, hop: &LastHop, loss_free_run: &LossFreeRun) -> Option<Portion> {
        let next = self.packets.front()?;
        let all = next.payload().len() as u32;
        let octets = hop.portion(all, next.segment_payload(), hop.room_to_pass(loss_free_run))?;
        Some(Portion { octets, is_whole: octets >= all })
    }

    /// How much of the first packet `reserved` octets suffice for.
    pub fn portion_within(&self, reserved: u64) -> Option<Portion> {
        let next = self.packets.front()?;
        let (all, segment) = (next.payload().len() as u64, u64::from(next.segment_payload().max(1)));
        let octets = if all <= reserved { all } else { reserved / segment * segment };
        (octets > 0).then_some(Portion { octets: octets as u32, is_whole: octets == all })
    }

    /// Takes a portion of the first packet. Returns it, and whether no part of that packet remains.
    pub fn take(&mut self, Portion { octets, is_whole }: Portion) -> Option<(Packet, bool)> {
        let cut = |next: &mut Packet| take_front(next, octets);
        let front = if is_whole { None } else { self.packets.cut_front(cut).flatten() };
        let is_whole = front.is_none();
        Some((front.or_else(|| self.packets.pop_front())?, is_whole))
    }

    /// Records a retransmission of `[seq, end)`, which may be the answer to a signal. All earlier
    /// data ends at `arrived`.
    pub fn on_retransmission(&mut self, seq: Seq, end: Seq, arrived: Seq, now: Instant) {
        if let Some(signal) = &mut self.signal
            && !seq.after(signal.seq)
            && end.after(signal.seq)
        {
            signal.answered.get_or_insert((now, arrived));
        }
    }

    /// Records whether the last signal was heeded. Every sender that slows down reduces its window
    /// by at least three tenths.
    pub fn judge_signal(&mut self) {
        if let Some(signal) = &mut self.signal {
            signal.is_heeded |= signal.answered.is_some() && self.packets.octets() < signal.waiting / 4 * 3;
        }
    }

    /// Whether the sender has had time to slow down after the last signal. It treats the data sent
    /// before its answer as one window, and slows down once for all losses in it (RFC 6582, section
    /// 3.2).
    pub fn may_signal(&self, now: Instant) -> bool {
        let Some(last) = self.signal else { return true };
        let Some((answered, recover)) = last.answered else { return now >= last.at + ANSWER_TIMEOUT };
        let is_of_next_window =
            self.packets.front().and_then(Packet::tcp).is_some_and(|tcp| !tcp.seq.before(recover));
        let pause = answered.since(last.at).max(MIN_PAUSE);
        is_of_next_window && now >= answered + pause.saturating_mul(1 << last.unheeded)
    }

    /// Takes out the segment that has waited longest, to be dropped, so that the sender detects the
    /// loss as soon as possible and slows down. `None` if it is a retransmission by the sender: it
    /// has slowed down for that. Returns the segment, and whether no part of its packet remains.
    pub fn signal(&mut self, highest: Seq, now: Instant) -> Option<(Packet, bool)> {
        let first = self.packets.front()?;
        let seq = first.tcp().map(|tcp| tcp.seq).filter(|seq| !seq.before(highest))?;
        let segment = first.segment_payload();
        let before = self.signal.filter(|before| !before.is_heeded);
        self.signal = Some(Signal {
            seq,
            at: now,
            waiting: self.packets.octets(),
            unheeded: before.map_or(0, |before| (before.unheeded + 1).min(MAX_UNHEEDED)),
            answered: None,
            is_heeded: false,
        });
        self.take(Portion { octets: segment, is_whole: false })
    }
}
