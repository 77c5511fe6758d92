//! One direction of a connection, from the core to the radio side: its cache, and what its packets and its timer do.

use std::time::Duration;

use lasthop_agent::SegmentCache;
use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};

use super::duplicates::Duplicates;
use super::rtt::HopRtt;
use super::settings::Settings;

/// Further apart than this, two numbers cannot belong to the same window (RFC 7323, section 2.2).
const LARGEST_WINDOW: u32 = 1 << 30;

/// What Snoop knows of data on its way to one mobile host.
#[derive(Debug)]
pub struct Flow {
    /// Data that passed and is not acknowledged.
    pub(super) cache: SegmentCache<Notes>,
    /// The highest acknowledgment number that passed; `None` until one did.
    pub(super) last_ack: Option<Seq>,
    /// The window that came with it, unscaled.
    pub(super) window: u16,
    /// Where the receiver's first hole ends, as far as its SACK blocks have said since `last_ack`.
    pub(super) hole_end: Option<Seq>,
    /// The number behind all data that passed, cached or not.
    pub(super) highest: Seq,
    /// The number behind the sender's FIN.
    pub(super) fin: Option<Seq>,
    /// What is to be done with the next duplicate ACK.
    pub(super) duplicates: Duplicates,
    /// Cached packets from here on are counted as those that elicit duplicate ACKs (snoop.cc, `expNextAck_`).
    pub(super) count_from: Seq,
    pub(super) rtt: HopRtt,
    /// The latest TSval that the receiver may have taken over.
    highest_tsval: Option<Seq>,
}

/// What is noted on a cached packet.
#[derive(Clone, Copy, Debug)]
pub struct Notes {
    /// When it last left towards the receiver.
    pub(super) sent: Instant,
    /// Local retransmissions since the sender last sent it.
    pub(super) local: u32,
    /// Whether the sender retransmitted it.
    pub(super) by_sender: bool,
    /// Whether it left more than once, or may have: it measures no round-trip time (Karn's rule).
    pub(super) ambiguous: bool,
}

/// What a data packet did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataEffect {
    /// The local timer starts anew.
    pub restart_timer: bool,
    /// The bound that kept the packet out of the cache.
    pub at_bound: Option<&'static str>,
}

impl Flow {
    /// A flow whose first packet seen starts at `seq`.
    pub fn new(settings: &Settings, seq: Seq) -> Self {
        Self {
            cache: SegmentCache::new(settings.cached_packets),
            last_ack: None,
            window: 0,
            hole_end: None,
            highest: seq,
            fin: None,
            duplicates: Duplicates::default(),
            count_from: seq,
            rtt: HopRtt::new(settings.initial_srtt, settings.initial_rttvar),
            highest_tsval: None,
        }
    }

    /// Takes note of a packet with sequence space from the core side (`snoop_data`). `room` is what the caches of all flows
    /// may still take, in octets.
    pub fn on_data(&mut self, packet: &Packet, settings: &Settings, room: usize, now: Instant) -> DataEffect {
        let Some(tcp) = packet.tcp() else { return DataEffect::default() };
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        if self.is_out_of_reach(seq) || self.is_out_of_reach(end) {
            // Another connection on the same ports, whose SYN went another way.
            *self = Self::new(settings, seq);
        }
        self.note_timestamp(tcp);
        if tcp.flags.has(TcpFlags::FIN) {
            self.fin = Some(end);
        }
        let late = seq.before(self.highest);
        self.highest = self.highest.later(end);
        if self.last_ack.is_some_and(|ack| !end.after(ack)) {
            // The receiver has it; its own duplicate ACK will tell the sender.
            return DataEffect::default();
        }
        if late && self.mark_retransmitted_by_sender(seq, end, now) {
            return DataEffect { restart_timer: true, at_bound: None };
        }
        if !is_repairable(tcp) {
            return DataEffect::default();
        }
        let octets = packet.len();
        let at_bound = if self.cache.is_full() {
            Some("cached packets of a connection")
        } else if self.octets().saturating_add(octets) > settings.cached_octets {
            Some("cached octets of a connection")
        } else if octets > room {
            Some("cached octets in all")
        } else {
            None
        };
        if at_bound.is_some() {
            return DataEffect { restart_timer: false, at_bound };
        }
        let notes = Notes { sent: now, local: 0, by_sender: false, ambiguous: late };
        self.cache.insert(packet.clone(), notes);
        if late {
            self.fill_in(seq);
        }
        DataEffect { restart_timer: late, at_bound: None }
    }

    /// A packet that was not cached and lies below what passed already: the network reordered it, or lost it before us and
    /// the sender repairs that. As the first in the cache it is taken for the sender's retransmission.
    fn fill_in(&mut self, seq: Seq) {
        let Some(first) = self.cache.first_mut() else { return };
        if first.seq == seq {
            first.notes.by_sender = true;
        }
        self.count_from = first.seq;
    }

    /// Marks what is cached of `[seq, end)` as retransmitted by the sender; whether there was any.
    fn mark_retransmitted_by_sender(&mut self, seq: Seq, end: Seq, now: Instant) -> bool {
        let mut found = false;
        for cached in self.cache.iter_mut().filter(|cached| cached.seq.before(end) && cached.end.after(seq)) {
            cached.notes = Notes { sent: now, local: 0, by_sender: true, ambiguous: true };
            found = true;
        }
        found
    }

    /// Takes note of the timestamp of a packet from the core side.
    ///
    /// Only of one that the receiver may take over as TS.Recent (RFC 7323, section 4.3): one that starts within what is
    /// outstanding. So nobody outside the path can make us stamp copies with a TSval from the future, after which the
    /// receiver would refuse the true sender for good.
    pub fn note_timestamp(&mut self, tcp: &Tcp) {
        let outstanding =
            !tcp.seq.after(self.highest) && self.last_ack.is_none_or(|ack| !tcp.seq.before(ack));
        if let Some(timestamps) = tcp.options.timestamps
            && outstanding
        {
            let value = Seq(timestamps.value);
            self.highest_tsval = Some(self.highest_tsval.map_or(value, |highest| highest.later(value)));
        }
    }

    /// What the local timer retransmits: the packet that the receiver waits for, if it is cached and the window is open.
    pub fn on_timer(&mut self, limit: u32, now: Instant) -> Option<Packet> {
        let first = self.cache.first()?;
        if self.last_ack.is_some_and(|ack| first.seq.after(ack) || self.window == 0) {
            return None;
        }
        self.repair(limit, now)
    }

    /// A copy of what the receiver misses of the first cached packet; `None` if it was retransmitted `limit` times.
    pub fn repair(&mut self, limit: u32, now: Instant) -> Option<Packet> {
        let first = self.cache.first_mut()?;
        if first.notes.local >= limit {
            return None;
        }
        first.notes.local += 1;
        first.notes.ambiguous = true;
        first.notes.sent = now;
        self.count_from = first.end;

        let mut copy = first.packet.clone();
        let from = self.last_ack.map_or(first.seq, |ack| ack.later(first.seq));
        let to = self.hole_end.filter(|end| end.after(from)).map_or(first.end, |end| end.earlier(first.end));
        if from != first.seq || to != first.end {
            cut(&mut copy, from, to, first.end);
        }
        if let Some(highest) = self.highest_tsval {
            stamp(&mut copy, highest);
        }
        Some(copy)
    }

    /// The local time-out now.
    pub fn timeout(&self, settings: &Settings) -> Duration {
        self.rtt.timeout(settings.minimum_timeout)
    }

    /// Octets in the cache.
    pub const fn octets(&self) -> usize {
        self.cache.octets()
    }

    /// Whether nothing is cached.
    pub fn is_empty(&self) -> bool {
        self.cache.is_empty()
    }

    /// Whether a number is so far from the data seen and cached that it cannot belong to it.
    fn is_out_of_reach(&self, seq: Seq) -> bool {
        let far = |other: Seq| seq.offset_from(other).unsigned_abs() > LARGEST_WINDOW;
        far(self.highest) || self.cache.first().is_some_and(|first| far(first.seq))
    }
}

/// Whether a copy may be sent. Not with urgent data, whose pointer is relative to the segment, nor with options that are not
/// understood: a signature or a mapping in them would not fit a copy that is cut or stamped anew.
const fn is_repairable(tcp: &Tcp) -> bool {
    !tcp.flags.has(TcpFlags::URG) && tcp.options.unknown.is_none()
}

/// Cuts a segment that ends at `end` down to `[from, to)`.
fn cut(packet: &mut Packet, from: Seq, to: Seq, end: Seq) {
    let Some(tcp) = packet.tcp_mut() else { return };
    let (front, back) = (from - tcp.seq, to - tcp.seq);
    tcp.seq = from;
    if to != end {
        tcp.flags = TcpFlags(tcp.flags.0 & !TcpFlags::FIN.0);
    }
    packet.set_payload(packet.payload().slice(front as usize, back as usize));
}

/// Raises the TSval of a copy to the highest that went to the receiver, or it would fail PAWS (RFC 7323, section 5.3).
fn stamp(packet: &mut Packet, highest: Seq) {
    let older = |tcp: &Tcp| tcp.options.timestamps.is_some_and(|own| Seq(own.value).before(highest));
    if packet.tcp().is_some_and(older)
        && let Some(tcp) = packet.tcp_mut()
        && let Some(timestamps) = &mut tcp.options.timestamps
    {
        timestamps.value = highest.0;
    }
}
