//! Random early detection: S. Floyd and V. Jacobson, "Random Early Detection Gateways for
//! Congestion Avoidance", IEEE/ACM Transactions on Networking 1(4), 1993; its "gentle" mode by
//! S. Floyd, "Recommendation on using the gentle variant of RED", 2000.
//!
//! Section 4 of the paper has the algorithm, in its figure 2. It leaves open:
//!
//! - what of a packet that arrives at an empty queue while the one before it is being sent: the
//!   average falls by one step, as with any other arrival;
//! - how many packets an idle link could have sent: those of `mean_packet` octets at the link's
//!   rate, from the end of the last transmission on, and the packet itself (as ns-2 has it);
//! - ECN, which came later: below the upper threshold a packet that understands it is marked, above
//!   it is dropped (RFC 3168, section 7).

use lasthop_packet::{Instant, Rng};

use super::config::{RedConfig, Thresholds};

/// The fate of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chance {
    Passes,
    /// It is to be marked, or dropped if that cannot be.
    Marked,
    Dropped,
}

#[derive(Debug)]
pub(super) struct Red {
    config: RedConfig,
    /// Seconds that the link takes for an octet.
    octet_time: f64,
    /// The moving average of the queue.
    average: f64,
    /// Packets since the last one was marked or dropped; `None`, the paper's -1, while the average
    /// is below the lower threshold.
    count: Option<u32>,
    /// When the last packet that left has been sent.
    busy_until: Instant,
    rng: Rng,
}

impl Red {
    pub(super) const fn new(config: RedConfig, octet_time: f64, rng: Rng) -> Self {
        Self { config, octet_time, average: 0.0, count: None, busy_until: Instant::ZERO, rng }
    }

    /// The moving average of the queue.
    #[cfg(test)]
    pub(super) const fn average(&self) -> f64 {
        self.average
    }

    pub(super) const fn config(&self) -> RedConfig {
        self.config
    }

    pub(super) const fn set(&mut self, config: RedConfig) {
        self.config = config;
    }

    pub(super) const fn set_octet_time(&mut self, octet_time: f64) {
        self.octet_time = octet_time;
    }

    /// A packet of `len` octets arrives behind this number of packets and octets.
    pub(super) fn on_arrival(&mut self, (packets, octets): (usize, u64), len: u32, now: Instant) -> Chance {
        let RedConfig { thresholds, max_probability, gentle, mean_packet, .. } = self.config;
        let max_probability = max_probability.value();
        let (queue, size, (min, max)) = match thresholds {
            Thresholds::Packets(min, max) => (packets as f64, 1.0, (min as f64, max as f64)),
            Thresholds::Octets(min, max) => {
                (octets as f64, f64::from(len) / f64::from(mean_packet), (min as f64, max as f64))
            }
        };
        self.average_in(queue, packets == 0, now);
        let average = self.average;
        if average < min {
            self.count = None;
            return Chance::Passes;
        }
        let by_average = if average < max {
            max_probability * (average - min) / (max - min)
        } else if gentle && average < 2.0 * max {
            max_probability + (1.0 - max_probability) * (average - max) / max
        } else {
            self.count = Some(0);
            return Chance::Dropped;
        };
        if !self.is_chosen(by_average * size) {
            return Chance::Passes;
        }
        if self.config.ecn && average < max { Chance::Marked } else { Chance::Dropped }
    }

    /// A packet of `len` octets leaves.
    pub(super) fn on_departure(&mut self, len: u32, now: Instant) {
        let nanos = f64::from(len) * self.octet_time * 1e9;
        self.busy_until = now.after_nanos(nanos as u64);
    }

    /// Takes the queue as a packet finds it into the average.
    fn average_in(&mut self, queue: f64, is_empty: bool, now: Instant) {
        let weight = self.config.weight;
        let idle = now.since(self.busy_until);
        if is_empty && !idle.is_zero() && self.average > 0.0 {
            let typical = f64::from(self.config.mean_packet) * self.octet_time;
            self.average *= libm::pow(1.0 - weight, idle.as_secs_f64() / typical);
        }
        self.average += weight * (queue - self.average);
    }

    /// Whether it is this packet's turn, `probability` being that of a packet by the average alone:
    /// the number of packets from one that is chosen to the next is uniform (section 7, method 2).
    fn is_chosen(&mut self, probability: f64) -> bool {
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        let passed = f64::from(count) * probability;
        let probability = if passed < 1.0 { probability / (1.0 - passed) } else { 1.0 };
        let is_chosen = probability >= 1.0 || (probability > 0.0 && self.rng.uniform() < probability);
        self.count = Some(if is_chosen { 0 } else { count });
        is_chosen
    }
}
