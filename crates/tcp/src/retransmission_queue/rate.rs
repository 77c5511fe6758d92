//! The delivery rate, sampled with each ACK (draft-ietf-ccwg-bbr, section 4.1, whose names are in
//! parentheses).

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

/// The state of the connection when a segment was sent (`P`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    /// Octets delivered before (`P.delivered`).
    delivered: u64,
    /// The time of the last delivery (`P.delivered_time`).
    delivered_at: Instant,
    /// When the first segment of its flight was sent (`P.first_send_time`).
    first_sent: Instant,
    /// The application had nothing more to send (`P.is_app_limited`).
    is_application_limited: bool,
    /// Octets in the network with this segment (`P.tx_in_flight`), if recorded.
    in_network: u32,
    /// Octets lost before (`P.lost`).
    lost: u64,
}

/// The delivery rate of a flight (`RS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Octets delivered from the sending of the newest segment that this ACK delivers until the ACK
    /// (`RS.delivered`).
    pub delivered: u64,
    /// Octets delivered when that segment was sent (`RS.prior_delivered`).
    pub prior_delivered: u64,
    /// The time in which they were sent, or acknowledged, whichever is longer (`RS.interval`).
    pub interval: Duration,
    /// The application limited the sender (`RS.is_app_limited`).
    pub is_application_limited: bool,
    /// Octets in the network with that segment when it was sent (`RS.tx_in_flight`); only for a
    /// congestion control that uses a model of the path.
    pub in_network: u32,
    /// Octets lost since then (`RS.lost`).
    pub lost: u64,
}

impl RateSample {
    /// Octets per second.
    pub fn octets_per_second(&self) -> f64 {
        self.delivered as f64 / self.interval.as_secs_f64()
    }
}

/// A segment that was marked as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its first sequence number.
    pub seq: Seq,
    /// The sequence number after its last one.
    pub end: Seq,
    /// Octets in the network with it when it was last sent (`P.tx_in_flight`); only for a congestion
    /// control that uses a model of the path.
    pub in_network: u32,
    /// Octets lost since then, including its own.
    pub lost: u64,
    /// Octets delivered since the connection began.
    pub delivered: u64,
    /// The application limited the sender when it was sent.
    pub is_application_limited: bool,
}

/// Counts delivered and lost octets (`C`).
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    delivered: u64,
    lost: u64,
    delivered_at: Instant,
    first_sent: Instant,
    /// Until this number of octets is delivered, samples are limited by the application.
    application_limited_until: u64,
    /// The newest segment that the current ACK delivers: its stamp and time of sending.
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

    /// The segment from `seq` to `end`, sent with `stamp`, is lost.
    pub(super) fn record_lost(&mut self, seq: Seq, end: Seq, stamp: &Stamp) -> LostSegment {
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

    pub(super) const fn record_application_limited(&mut self, in_network: u64) {
        self.application_limited_until = self.delivered + if in_network > 0 { in_network } else { 1 };
    }

    /// A segment is sent; `is_idle` if nothing else is outstanding; `in_network`: octets in the network
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

    /// This number of octets with this stamp, sent at `sent`, is delivered.
    #[inline]
    pub(super) fn record(&mut self, stamp: Stamp, sent: Instant, octets: u32, now: Instant) {
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

    /// The rate sample of the deliveries since the last call. None if the interval is shorter than the
    /// minimum round-trip time: such an ACK is for the original of a retransmitted segment.
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
