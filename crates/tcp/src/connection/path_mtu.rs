//! How large segments may be on their path: path MTU discovery (RFC 1191, RFC 8201), and the search where
//! routers drop larger packets without a message (RFC 4821; `tcp_mtu_probing` = 1 in Linux).
//!
//! `smaller_segments` has what follows from a message or from time-outs. From time to time one segment has
//! the size again that the ends agreed on; once it is acknowledged, all have.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use crate::congestion::SentSegment;

/// The time from a router's message to the next trial of a larger segment (RFC 1191, section 6.3), and the
/// longest time between trials that fail.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(600);

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

    /// The state of a connection that was moved here. Its segments have `mss` octets now; the first larger one
    /// is tried after `pause` seconds.
    pub(super) fn restored(agreed: u32, mss: u32, pause: u16, now: Instant) -> Self {
        let pause = Duration::from_secs(pause.into()).min(LONGEST_PAUSE);
        let probe = if mss < agreed { Probe::NotBefore(now + pause) } else { Probe::Needless };
        Self { probe, ..Self::new(agreed) }
    }

    /// For how many seconds no larger segment is tried.
    pub(super) fn pause(&self, now: Instant) -> u16 {
        let Probe::NotBefore(at) = self.probe else { return 0 };
        at.since(now).as_millis().div_ceil(1000).try_into().unwrap_or(u16::MAX)
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
    pub(super) fn lose_probe(&mut self, now: Instant) -> bool {
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

    /// The path takes so little that routers may fragment what is sent from now on.
    pub(super) const fn allow_fragments(&mut self) {
        self.may_fragment = true;
    }

    /// A time-out. How many there were since something was acknowledged.
    pub(super) const fn note_timeout(&mut self) -> u32 {
        self.timeouts += 1;
        self.timeouts
    }

    /// Segments are smaller than agreed from now on; none is larger before this time.
    pub(super) fn reduce(&mut self, at: Instant) {
        self.probe = match self.probe {
            Probe::NotBefore(before) => Probe::NotBefore(before.max(at)),
            _ => Probe::NotBefore(at),
        };
    }
}
