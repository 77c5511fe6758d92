//! What of a connection waits for room in the local window.

use std::time::Duration;

use lasthop_agent::PacketQueue;
use lasthop_hop::last_hop::{LastHop, Trust};
use lasthop_packet::{Instant, Packet, Seq, Sizes};

use super::segmentation::take_front;

/// After a sender has answered a packet that was dropped to slow it down, so long at least, and as
/// long as the answer took, no other is dropped: a sender takes a round trip to come down to half
/// of its window. A second signal before that would halve it again.
const AFTER_ANSWER: Duration = Duration::from_millis(100);

/// After so many signals in a row that a sender has not heeded, the pause does not become longer.
const MOST_UNHEEDED: u32 = 8;

/// A signal without an answer for so long is repeated.
const WITHOUT_ANSWER: Duration = Duration::from_secs(1);

/// Packets that wait, in order, and the last that was dropped to slow their sender down.
#[derive(Debug, Default)]
pub struct Waiting {
    packets: PacketQueue,
    signal: Option<Signal>,
}

/// A packet that was dropped to slow the sender down.
#[derive(Clone, Copy, Debug)]
struct Signal {
    /// Its number.
    seq: Seq,
    /// When it was dropped.
    at: Instant,
    /// Octets that waited then.
    waiting: usize,
    /// Less has waited since the sender answered.
    is_heeded: bool,
    /// How many signals in a row before this one were not heeded.
    unheeded: u32,
    /// When the sender sent it again, and the number behind all that it had sent before: it slows down from
    /// there on.
    answered: Option<(Instant, Seq)>,
}

/// How much of the packet that has waited longest is to be sent.
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

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// When the last signal was given: see [`lasthop_agent::Agent::prefetch`].
    pub fn signalled_at(&self) -> Option<Instant> {
        self.signal.map(|signal| signal.at)
    }

    /// Takes over one more packet.
    pub fn push(&mut self, packet: Packet, sizes: Sizes) {
        self.packets.push_back(packet, sizes);
    }

    /// The packet that has waited longest.
    pub fn pop(&mut self) -> Option<Packet> {
        self.packets.pop_front()
    }

    /// Takes all of them. How many there were.
    pub fn clear(&mut self) -> usize {
        std::mem::take(&mut self.packets).len()
    }

    /// How much of the packet that has waited longest there is room for.
    #[inline]
    pub fn portion(&self, hop: &LastHop, trust: &Trust) -> Option<Portion> {
        let next = self.packets.front()?;
        let all = next.payload().len() as u32;
        let octets = hop.portion(all, next.segment_payload(), hop.room_to_pass(trust))?;
        Some(Portion { octets, is_whole: octets >= all })
    }

    /// How much of it `reserved` octets are enough for.
    pub fn portion_within(&self, reserved: u64) -> Option<Portion> {
        let next = self.packets.front()?;
        let (all, segment) = (next.payload().len() as u64, u64::from(next.segment_payload().max(1)));
        let octets = if all <= reserved { all } else { reserved / segment * segment };
        (octets > 0).then_some(Portion { octets: octets as u32, is_whole: octets == all })
    }

    /// Takes this portion of it. Returns it, and whether nothing of that packet is left.
    pub fn take(&mut self, Portion { octets, is_whole }: Portion) -> Option<(Packet, bool)> {
        let cut = |next: &mut Packet| take_front(next, octets);
        let front = if is_whole { None } else { self.packets.cut_front(cut).flatten() };
        let is_whole = front.is_none();
        Some((front.or_else(|| self.packets.pop_front())?, is_whole))
    }

    /// A packet that starts at `seq` comes again: it may be the answer to a signal. All that came before ends at
    /// `arrived`.
    pub fn on_sent_again(&mut self, seq: Seq, end: Seq, arrived: Seq, now: Instant) {
        if let Some(signal) = &mut self.signal
            && !seq.after(signal.seq)
            && end.after(signal.seq)
        {
            signal.answered.get_or_insert((now, arrived));
        }
    }

    /// Takes note of whether the last signal was heeded. Every sender that slows down takes three tenths off
    /// its window.
    pub fn judge_signal(&mut self) {
        if let Some(signal) = &mut self.signal {
            signal.is_heeded |= signal.answered.is_some() && self.packets.octets() < signal.waiting / 4 * 3;
        }
    }

    /// Whether the sender has had the time to slow down after the last signal. It takes what it sent before
    /// its answer for one window, and slows down once for all losses of it (RFC 6582, section 3.2).
    pub fn may_signal(&self, now: Instant) -> bool {
        let Some(last) = self.signal else { return true };
        let Some((answered, recover)) = last.answered else { return now >= last.at + WITHOUT_ANSWER };
        let is_of_next_window =
            self.packets.front().and_then(Packet::tcp).is_some_and(|tcp| !tcp.seq.before(recover));
        let pause = answered.since(last.at).max(AFTER_ANSWER);
        is_of_next_window && now >= answered + pause.saturating_mul(1 << last.unheeded)
    }

    /// Takes out the segment that has waited longest, to be dropped: the sender is to hear of it as soon as
    /// can be, and to slow down. `None` where the sender sends it again: it has slowed down for that. Returns
    /// it, and whether nothing of its packet is left.
    pub fn signal(&mut self, highest: Seq, now: Instant) -> Option<(Packet, bool)> {
        let first = self.packets.front()?;
        let seq = first.tcp().map(|tcp| tcp.seq).filter(|seq| !seq.before(highest))?;
        let segment = first.segment_payload();
        let before = self.signal.filter(|before| !before.is_heeded);
        self.signal = Some(Signal {
            seq,
            at: now,
            waiting: self.packets.octets(),
            unheeded: before.map_or(0, |before| (before.unheeded + 1).min(MOST_UNHEEDED)),
            answered: None,
            is_heeded: false,
        });
        self.take(Portion { octets: segment, is_whole: false })
    }
}
