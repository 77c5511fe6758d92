//! Path MTU discovery (RFC 1191, RFC 8201), and the search for the MTU if routers drop larger packets
//! without a message (RFC 4821; `tcp_mtu_probing` = 1 in Linux).
//!
//! - A router reports the MTU of its next link. Segments fit into it from then on.
//! - Consecutive time-outs may have the same cause without a message: each from the third on reduces the
//!   segment size.
//! - From time to time, a probe has the negotiated size again; once it is acknowledged, all segments have.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use crate::congestion::SentSegment;

/// The time from a router's message to the next probe (RFC 1191, section 6.3), and the maximum time between
/// probes that are lost.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// The pause after the first lost probe; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Consecutive time-outs after which segments may be too large for the path (Linux `tcp_retries1`).
const BLACK_HOLE_TIMEOUTS: u32 = 3;

/// Payloads, options included, that are tried then, in this order: Linux's `tcp_base_mss`, and half of it,
/// which fits into the 576 octets that every IPv4 host accepts.
const SMALLER_V4: [u32; 2] = [1024, 512];

/// The payload that fits into the minimum MTU of IPv6 (RFC 8200, section 5).
const SMALLER_V6: [u32; 1] = [1280 - 40 - 20];

/// For a smaller MTU, IPv4 routers may fragment packets: a bound for the harm of forged messages (Linux
/// `min_pmtu`).
const MIN_MTU_V4: u32 = 552;

/// The state of path MTU discovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathMtu {
    /// Payload of the largest negotiated segment, without fixed options.
    agreed: u32,
    /// Octets of the options in every segment.
    options: u32,
    is_ipv4: bool,
    /// Smaller segments are tried after time-outs.
    searches: bool,
    probe: Probe,
    /// Consecutive lost probes.
    lost_probes: u32,
    /// Time-outs since the last acknowledgment of new data.
    timeouts: u32,
    /// The MTU is so small that routers may fragment packets.
    may_fragment: bool,
}

/// The state of the probe: a segment larger than those known to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// Segments have the negotiated size.
    Needless,
    /// No probe before this time.
    NotBefore(Instant),
    /// The next segment that is long enough is a probe.
    Due,
    /// The probe is in the network.
    UnderWay { seq: Seq, end: Seq },
}

impl PathMtu {
    /// Segments have the negotiated size; `searches` if smaller ones are tried after time-outs.
    pub(super) const fn new(agreed: u32, is_ipv4: bool, searches: bool) -> Self {
        Self {
            agreed,
            options: 0,
            is_ipv4,
            searches,
            probe: Probe::Needless,
            lost_probes: 0,
            timeouts: 0,
            may_fragment: false,
        }
    }

    /// Segments of `agreed` octets were negotiated, and `options` octets of options in each.
    pub(super) const fn begin(&mut self, agreed: u32, options: u32) {
        *self = Self { options, ..Self::new(agreed, self.is_ipv4, self.searches) };
    }

    /// Restores a saved state: segments have `mss` octets now, and the first probe is due after `pause`
    /// seconds.
    pub(super) fn restore(&mut self, agreed: u32, mss: u32, pause: u16, now: Instant) {
        self.begin(agreed, self.options);
        if mss < agreed {
            self.probe = Probe::NotBefore(now + Duration::from_secs(pause.into()).min(LONGEST_PAUSE));
        }
    }

    /// Seconds until the next probe is due.
    pub(super) fn pause(&self, now: Instant) -> u16 {
        let Probe::NotBefore(at) = self.probe else { return 0 };
        at.since(now).as_millis().div_ceil(1000).try_into().unwrap_or(u16::MAX)
    }

    pub(super) const fn agreed(&self) -> u32 {
        self.agreed
    }

    pub(super) const fn may_fragment(&self) -> bool {
        self.may_fragment
    }

    /// Octets of the next segment, if segments have `mss`.
    pub(super) fn room(&self, mss: u32) -> u32 {
        if self.probe == Probe::Due { self.agreed } else { mss }
    }

    pub(super) fn is_probe(&self, seq: Seq) -> bool {
        matches!(self.probe, Probe::UnderWay { seq: probe, .. } if probe == seq)
    }

    /// A segment is sent.
    #[inline]
    pub(super) fn on_sent(&mut self, segment: &SentSegment, mss: u32) {
        if self.probe != Probe::Needless {
            self.follow_sent(segment, mss);
        }
    }

    #[cold]
    fn follow_sent(&mut self, segment: &SentSegment, mss: u32) {
        let SentSegment { seq, end, now, .. } = *segment;
        match self.probe {
            Probe::Due if end - seq > mss => self.probe = Probe::UnderWay { seq, end },
            Probe::UnderWay { seq: first, end: behind } if seq.before(behind) && end.after(first) => {
                self.lose_probe(now);
            }
            _ => {}
        }
    }

    /// A router reports the MTU of its next link, for an outstanding segment. Segments have `mss` octets.
    /// Returns their new size; `None` if the message reports nothing new.
    pub(super) fn on_packet_too_big(&mut self, mtu: u32, mss: u32, now: Instant) -> Option<u32> {
        let (headers, least) = if self.is_ipv4 { (40, MIN_MTU_V4) } else { (60, 0) };
        let fragments = mtu < least && !self.may_fragment;
        let fits = mtu.max(least).saturating_sub(headers + self.options).max(1);
        // There may be a message for each of many segments (RFC 1191, section 6.5).
        if !self.lose_probe(now) && fits >= mss && !fragments {
            return None;
        }
        self.may_fragment |= fragments;
        self.reduce(now + LONGEST_PAUSE);
        Some(fits.min(mss))
    }

    /// A time-out: a segment that is lost repeatedly may be too large for the path. `oldest`: octets of the
    /// oldest outstanding segment. Returns the new size of segments, if they become smaller.
    pub(super) fn on_timeout(&mut self, oldest: u32, now: Instant) -> Option<u32> {
        self.timeouts += 1;
        if !self.searches || self.timeouts < BLACK_HOLE_TIMEOUTS {
            return None;
        }
        let smaller: &[u32] = if self.is_ipv4 { &SMALLER_V4 } else { &SMALLER_V6 };
        let mss = smaller.iter().map(|size| size - self.options).find(|mss| *mss < oldest)?;
        self.reduce(now);
        Some(mss)
    }

    /// The probe in the network, if any, is lost. Returns whether there was one.
    fn lose_probe(&mut self, now: Instant) -> bool {
        let was_under_way = matches!(self.probe, Probe::UnderWay { .. });
        if was_under_way {
            let pause = FIRST_PAUSE.saturating_mul(1 << self.lost_probes.min(16)).min(LONGEST_PAUSE);
            self.lost_probes = self.lost_probes.saturating_add(1);
            self.probe = Probe::NotBefore(now + pause);
        }
        was_under_way
    }

    /// Everything before `una` is acknowledged. Returns the new size of segments, if the probe is.
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

    /// Segments are smaller than negotiated, without a probe before this time.
    fn reduce(&mut self, at: Instant) {
        self.probe = match self.probe {
            Probe::NotBefore(before) => Probe::NotBefore(before.max(at)),
            _ => Probe::NotBefore(at),
        };
    }
}
