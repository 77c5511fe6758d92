//! The delivery rate, sampled with each ACK (draft-ietf-ccwg-bbr, section 4.1, whose names are in
//! parentheses).

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

/// What is remembered of the connection when a segment leaves (`P`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    /// Octets delivered by then (`P.delivered`).
    delivered: u64,
    /// When the latest of them were (`P.delivered_time`).
    delivered_at: Instant,
    /// When the first segment of the flight left that it belongs to (`P.first_send_time`).
    first_sent: Instant,
    /// The application had nothing more to send (`P.is_app_limited`).
    is_application_limited: bool,
    /// Octets in the network with this segment (`P.tx_in_flight`), where that is noted.
    in_network: u32,
    /// Octets lost by then (`P.lost`).
    lost: u64,
}

/// How fast a flight's worth of data was delivered (`RS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Octets delivered between the sending of the newest segment that this ACK delivers and the
    /// ACK (`RS.delivered`).
    pub delivered: u64,
    /// Octets that were delivered when that segment left (`RS.prior_delivered`).
    pub prior_delivered: u64,
    /// The time that it took to send them, or to have them acknowledged, whichever is longer
    /// (`RS.interval`).
    pub interval: Duration,
    /// The application was the limit (`RS.is_app_limited`).
    pub is_application_limited: bool,
    /// Octets in the network when that segment had left (`RS.tx_in_flight`); only for a congestion
    /// control that goes by a model of the path.
    pub in_network: u32,
    /// Octets lost since then (`RS.lost`).
    pub lost: u64,
}

impl RateSample {
    /// Octets a second.
    pub fn octets_per_second(&self) -> f64 {
        self.delivered as f64 / self.interval.as_secs_f64()
    }
}

/// A segment that counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its first sequence number.
    pub seq: Seq,
    /// Behind its last one.
    pub end: Seq,
    /// Octets in the network when it had left last (`P.tx_in_flight`); only for a congestion
    /// control that goes by a model of the path.
    pub in_network: u32,
    /// Octets lost since then, its own included.
    pub lost: u64,
    /// Octets delivered since the connection began.
    pub delivered: u64,
    /// The application was the limit when it left.
    pub is_application_limited: bool,
}

/// Counts what is delivered (`C`).
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    delivered: u64,
    lost: u64,
    delivered_at: Instant,
    first_sent: Instant,
    /// While as many octets are not delivered, samples are limited by the application.
    application_limited_until: u64,
    /// The newest segment that the current ACK delivers: its stamp and when it left.
    newest: Option<(Stamp, Instant)>,
}

impl Meter {
    pub(super) const fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(super) const fn delivered_at(&self) -> Instant {
        self.delivered_at
    }

    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) const fn is_application_limited(&self) -> bool {
        self.application_limited_until > 0
    }

    /// The segment from `seq` to `end`, which left with `stamp`, is lost.
    pub(super) fn note_lost(&mut self, seq: Seq, end: Seq, stamp: &Stamp) -> LostSegment {
        self.lost += u64::from(end - seq);
        LostSegment {
            seq,
            end,
            in_network: stamp.in_network,
            lost: self.lost - stamp.lost,
            delivered: self.delivered,
            is_application_limited: stamp.is_application_limited,
        }
    }

    pub(super) const fn note_application_limited(&mut self, in_network: u64) {
        self.application_limited_until = self.delivered + if in_network > 0 { in_network } else { 1 };
    }

    /// A segment leaves; `is_idle` if nothing is outstanding, `in_network` octets are in the network
    /// with it.
    #[inline]
    pub(super) const fn stamp(&mut self, is_idle: bool, in_network: u32, now: Instant) -> Stamp {
        if is_idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_application_limited: self.application_limited_until > self.delivered,
            in_network,
            lost: self.lost,
        }
    }

    /// So many octets with this stamp, which left then, are delivered.
    #[inline]
    pub(super) fn note(&mut self, stamp: Stamp, sent: Instant, octets: u32, now: Instant) {
        self.delivered += u64::from(octets);
        self.delivered_at = now;
        let is_newer = self
            .newest
            .is_none_or(|(known, known_sent)| (stamp.delivered, sent) >= (known.delivered, known_sent));
        if is_newer {
            self.newest = Some((stamp, sent));
            self.first_sent = sent;
        }
    }

    /// What the segments noted since the last call say. An interval shorter than the least
    /// round-trip time says nothing: an ACK of that kind is for the original of a segment that was
    /// sent again.
    #[inline]
    pub(super) fn sample(&mut self, now: Instant, min_rtt: Option<Duration>) -> Option<RateSample> {
        if self.delivered > self.application_limited_until {
            self.application_limited_until = 0;
        }
        let (stamp, sent) = self.newest.take()?;
        let interval = sent.since(stamp.first_sent).max(now.since(stamp.delivered_at));
        let is_plausible = !interval.is_zero() && min_rtt.is_none_or(|least| interval >= least);
        is_plausible.then_some(RateSample {
            delivered: self.delivered - stamp.delivered,
            prior_delivered: stamp.delivered,
            interval,
            is_application_limited: stamp.is_application_limited,
            in_network: stamp.in_network,
            lost: self.lost - stamp.lost,
        })
    }
}
