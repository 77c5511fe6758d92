//! How large segments may be on their path: path MTU discovery (RFC 1191, RFC 8201), and the search where
//! routers drop what is too large and nobody hears of it (RFC 4821; `tcp_mtu_probing` = 1 in Linux).
//!
//! - A router states what its next link takes. Segments have that size from then on, and those that were
//!   larger go again at once, without a reduction of the window: nothing was lost to congestion.
//! - Time-outs in a row may have the same cause: each from the third on makes segments smaller.
//! - From time to time one segment has the size again that the ends agreed on. Once it is acknowledged,
//!   all have.

use std::time::Duration;

use lasthop_packet::{Instant, PacketTooBig, Seq};

use super::Connection;
use crate::congestion::SentSegment;
use crate::recovery::AfterTimeout;

/// Time-outs in a row after which segments may be too large for the path (Linux `tcp_retries1`).
const BLACK_HOLE_TIMEOUTS: u32 = 3;

/// Payloads, options included, that are tried then, one after the other: Linux's `tcp_base_mss`, and half
/// of it, which fits into the 576 octets that every IPv4 host takes.
const SMALLER_V4: [u32; 2] = [1024, 512];

/// What fits into the least MTU of IPv6 (RFC 8200, section 5).
const SMALLER_V6: [u32; 1] = [1280 - 40 - 20];

/// An IPv4 router that takes less may fragment what is sent: who can forge its message is to cost us no
/// more than this (Linux `min_pmtu`).
const LEAST_MTU_V4: u32 = 552;

/// After a router's message a larger segment is tried no sooner (RFC 1191, section 6.3), nor seldomer after
/// others that were lost.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// The pause after the first larger segment that was lost; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// What is known of the path's MTU.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathMtu {
    /// Payload of the largest segment that the ends have agreed on, fixed options subtracted.
    agreed: u32,
    probe: Probe,
    /// Probes that were lost in a row.
    lost_probes: u32,
    /// Time-outs since something was acknowledged.
    timeouts: u32,
    /// The path takes so little that routers may fragment what is sent.
    may_fragment: bool,
}

/// A segment that is larger than those that are known to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// Segments have the size that was agreed on.
    Needless,
    /// None before this time.
    NotBefore(Instant),
    /// The next segment that is long enough is one.
    Due,
    /// It is on its way.
    UnderWay { seq: Seq, end: Seq },
}

impl PathMtu {
    /// As far as is known, the path takes the segments that the ends have agreed on.
    pub(super) const fn new(agreed: u32) -> Self {
        Self { agreed, probe: Probe::Needless, lost_probes: 0, timeouts: 0, may_fragment: false }
    }

    /// That of a connection that goes on elsewhere, whose segments have `mss` octets now.
    pub(super) fn restored(agreed: u32, mss: u32, now: Instant) -> Self {
        let probe = if mss < agreed { Probe::NotBefore(now + LONGEST_PAUSE) } else { Probe::Needless };
        Self { probe, ..Self::new(agreed) }
    }

    /// Payload of the largest segment that the ends have agreed on.
    pub(super) const fn agreed(&self) -> u32 {
        self.agreed
    }

    /// Whether routers may fragment what is sent.
    pub(super) const fn may_fragment(&self) -> bool {
        self.may_fragment
    }

    /// Octets of the next segment, if those that are known to pass have `mss`.
    #[inline]
    pub(super) fn room(&self, mss: u32) -> u32 {
        if self.probe == Probe::Due { self.agreed } else { mss }
    }

    /// Whether the segment at `seq` is a probe.
    #[inline]
    pub(super) fn is_probe(&self, seq: Seq) -> bool {
        matches!(self.probe, Probe::UnderWay { seq: probe, .. } if probe == seq)
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, segment: &SentSegment, mss: u32) {
        if self.probe != Probe::Needless {
            self.note_probe(segment, mss);
        }
    }

    #[cold]
    fn note_probe(&mut self, segment: &SentSegment, mss: u32) {
        let SentSegment { seq, end, now, .. } = *segment;
        match self.probe {
            Probe::Due if end - seq > mss => self.probe = Probe::UnderWay { seq, end },
            Probe::UnderWay { seq: first, end: behind } if seq.before(behind) && end.after(first) => {
                self.lose_probe(now);
            }
            _ => {}
        }
    }

    /// A probe that is on its way is lost. Whether there was one.
    fn lose_probe(&mut self, now: Instant) -> bool {
        let was_under_way = matches!(self.probe, Probe::UnderWay { .. });
        if was_under_way {
            let pause = FIRST_PAUSE.saturating_mul(1 << self.lost_probes.min(16)).min(LONGEST_PAUSE);
            self.lost_probes = self.lost_probes.saturating_add(1);
            self.probe = Probe::NotBefore(now + pause);
        }
        was_under_way
    }

    /// Everything before `una` is acknowledged. Returns how large segments may be now, if a probe is.
    #[inline]
    pub(super) fn on_new_ack(&mut self, una: Seq, now: Instant) -> Option<u32> {
        self.timeouts = 0;
        if self.probe == Probe::Needless { None } else { self.follow_probe(una, now) }
    }

    #[cold]
    fn follow_probe(&mut self, una: Seq, now: Instant) -> Option<u32> {
        match self.probe {
            Probe::NotBefore(at) if at <= now => {
                self.probe = Probe::Due;
                None
            }
            Probe::UnderWay { seq, end } if !una.before(end) => {
                let proven = (end - seq).min(self.agreed);
                self.lost_probes = 0;
                self.probe = if proven < self.agreed { Probe::Due } else { Probe::Needless };
                Some(proven)
            }
            _ => None,
        }
    }

    /// Segments are smaller than agreed from now on; none is larger before this time.
    fn reduce(&mut self, at: Instant) {
        self.probe = match self.probe {
            Probe::NotBefore(before) => Probe::NotBefore(before.max(at)),
            _ => Probe::NotBefore(at),
        };
    }
}

impl Connection {
    /// A router could not send a segment on that is outstanding.
    pub(super) fn on_packet_too_big(&mut self, too_big: &PacketTooBig, now: Instant) {
        let options = self.fixed_options();
        let (headers, least) = if self.local.0.is_ipv4() { (40, LEAST_MTU_V4) } else { (60, 0) };
        let fragments = too_big.mtu < least && !self.path_mtu.may_fragment;
        let mss = too_big.mtu.max(least).saturating_sub(headers + options).max(1);
        // One message for each of many segments says the same (RFC 1191, section 6.5).
        let is_smaller = mss < self.flight.mss;
        if !self.path_mtu.lose_probe(now) && !is_smaller && !fragments {
            return;
        }
        self.stats.icmp_accepted += 1;
        self.path_mtu.may_fragment |= fragments;
        self.path_mtu.reduce(now + LONGEST_PAUSE);
        let before = self.flight.mss;
        self.flight.mss = mss.min(before);
        self.send_too_large_again(now);
        self.keep_window_in_segments(before);
    }

    /// Segments have so many octets from now on. The window is as many of them as before, as in Linux: there
    /// are congestion controls that count segments.
    pub(super) fn set_segments(&mut self, mss: u32) {
        let before = std::mem::replace(&mut self.flight.mss, mss);
        self.keep_window_in_segments(before);
    }

    /// The same for segments that had `before` octets.
    fn keep_window_in_segments(&mut self, before: u32) {
        let flight = &mut self.flight;
        let scaled = |octets: u32| {
            let octets = u64::from(octets) * u64::from(flight.mss) / u64::from(before);
            octets.min(1 << 30) as u32
        };
        let (cwnd, ssthresh) = (scaled(flight.cwnd), scaled(flight.ssthresh));
        (flight.cwnd, flight.ssthresh) = (cwnd.max(flight.mss), ssthresh.max(2 * flight.mss));
    }

    /// What is outstanding in larger segments goes again in smaller ones.
    fn send_too_large_again(&mut self, now: Instant) {
        if self.flight.una == self.flight.max {
            return;
        }
        self.rtt.stop_timing();
        self.duplicate_acks = 0;
        self.retransmit.clear();
        if self.ask_recovery(now, |recovery, sender| recovery.on_smaller_segments(sender))
            == AfterTimeout::GoBack
        {
            self.flight.nxt = self.flight.una;
        }
        self.timers.retransmit = Some(self.rtt.expiry(now));
    }

    /// A time-out: what is lost again and again may be too large for the path.
    pub(super) fn suspect_black_hole(&mut self, now: Instant) {
        self.path_mtu.timeouts += 1;
        if !self.config.mtu_probing || self.path_mtu.timeouts < BLACK_HOLE_TIMEOUTS || self.is_handshaking() {
            return;
        }
        let options = self.fixed_options();
        let smaller: &[u32] = if self.local.0.is_ipv4() { &SMALLER_V4 } else { &SMALLER_V6 };
        let oldest = self.flight.outstanding().min(self.flight.mss);
        if let Some(mss) = smaller.iter().map(|size| size - options).find(|mss| *mss < oldest) {
            self.set_segments(mss);
            self.path_mtu.reduce(now);
        }
    }

    /// Octets of the options that every segment has.
    const fn fixed_options(&self) -> u32 {
        if self.negotiated.timestamps { 12 } else { 0 }
    }
}
