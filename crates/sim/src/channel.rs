//! The error process of a wireless link: two states with exponential sojourn times, or a trace of
//! states.

use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::{Instant, Packet, Probability, Rng, Seq};

/// One of the two states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sojourn {
    /// Mean of the exponential distribution of the sojourn time. A bad state with a mean of zero is never
    /// entered.
    pub mean: Duration,
    /// The probability that a transmission within this state is lost. For a transmission that meets both
    /// states, the greater probability counts.
    pub loss: Probability,
}

/// An error process. The worst state during a transmission, even during a part of it, decides its fate.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelConfig {
    /// The good state, in which a channel begins.
    pub good: Sojourn,
    /// The bad state.
    pub bad: Sojourn,
    /// The cause of its changes of state.
    pub source: StateSource,
}

impl ChannelConfig {
    /// No errors at all.
    pub const PERFECT: Self = Self {
        good: Sojourn { mean: Duration::MAX, loss: Probability::ZERO },
        bad: Sojourn { mean: Duration::ZERO, loss: Probability::ZERO },
        source: StateSource::Markov,
    };

    /// Sojourn times with these means; no loss in the good state, loss of everything in the bad one
    /// (thesis, section 4.2).
    pub const fn bursty(mean_good: Duration, mean_bad: Duration) -> Self {
        Self {
            good: Sojourn { mean: mean_good, loss: Probability::ZERO },
            bad: Sojourn { mean: mean_bad, loss: Probability::ONE },
            source: StateSource::Markov,
        }
    }
}

/// The cause of a channel's changes of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateSource {
    /// Exponential sojourn times.
    Markov,
    /// A recorded trace of states.
    Trace(Arc<StateTrace>),
    /// The channel is good, except while a chosen packet is transmitted. This is for link layers that send
    /// one frame at a time: if others are in flight, the end of any of them makes the channel good again.
    Forced(Vec<ForcedLoss>),
}

/// A packet to lose: a TCP data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForcedLoss {
    /// Its sequence number relative to the first octet of data.
    pub seq: u32,
    /// The number of its transmission by TCP over this link, from 1: 2 is the first retransmission.
    pub passing: u32,
}

/// The times of a channel's changes of state; it begins good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateTrace {
    flips: Vec<(Instant, bool)>,
}

impl StateTrace {
    /// The trace of states from these times on, which never decrease; `true` is good.
    pub fn from_changes(changes: impl IntoIterator<Item = (Instant, bool)>) -> Self {
        let mut flips: Vec<(Instant, bool)> = Vec::new();
        for (at, good) in changes {
            // What repeats the state is no change, and no transmission that meets it is lost.
            if flips.last().is_none_or(|(_, was_good)| *was_good) != good {
                flips.push((at, good));
            }
        }
        Self { flips }
    }
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flip {
    /// The time of the change.
    pub at: Instant,
    /// Whether it is good from then on.
    pub good: bool,
}

/// The state of an error process, which is updated when it is used.
#[derive(Debug)]
pub struct Channel {
    config: ChannelConfig,
    good: bool,
    next_flip: Instant,
    /// The next entry of a state trace.
    position: usize,
    /// The number of transmissions so far of each packet to lose.
    passings: Vec<u32>,
    /// The number of the transmitter whose packet keeps the channel bad.
    forced_by: Option<usize>,
    sojourns: Rng,
    losses: Rng,
}

impl Channel {
    /// A channel that is good at `start`. A trace's times count from the start of the run.
    pub fn new(config: ChannelConfig, start: Instant, mut sojourns: Rng, losses: Rng) -> Self {
        let next_flip = match &config.source {
            StateSource::Markov if config.bad.mean.is_zero() => Instant::MAX,
            StateSource::Markov => start + sojourns.exponential(config.good.mean),
            StateSource::Trace(trace) => trace.flips.first().map_or(Instant::MAX, |(at, _)| *at),
            StateSource::Forced(_) => Instant::MAX,
        };
        let passings = match &config.source {
            StateSource::Forced(losses) => vec![0; losses.len()],
            _ => Vec::new(),
        };
        Self { config, good: true, next_flip, position: 0, passings, forced_by: None, sojourns, losses }
    }

    /// A channel that replaces this one, good at `start`; it continues the streams of random numbers.
    #[must_use]
    pub fn replaced(&self, config: ChannelConfig, start: Instant) -> Self {
        Self::new(config, start, self.sojourns.clone(), self.losses.clone())
    }

    /// Whether it was good at its latest update.
    pub const fn is_good(&self) -> bool {
        self.good
    }

    /// Whether it loses chosen packets.
    pub const fn is_forced(&self) -> bool {
        matches!(self.config.source, StateSource::Forced(_))
    }

    /// Updates the state to `now`; `tell` receives each change.
    pub fn advance(&mut self, now: Instant, mut tell: impl FnMut(Flip)) {
        while self.next_flip <= now {
            let at = self.next_flip;
            let was = self.good;
            if let StateSource::Trace(trace) = &self.config.source {
                self.good = trace.flips.get(self.position).is_none_or(|(_, good)| *good);
                self.position += 1;
                self.next_flip = trace.flips.get(self.position).map_or(Instant::MAX, |(at, _)| *at);
            } else {
                self.good = !self.good;
                let mean = if self.good { self.config.good.mean } else { self.config.bad.mean };
                self.next_flip = at + self.sojourns.exponential(mean);
            }
            if self.good != was {
                tell(Flip { at, good: self.good });
            }
        }
    }

    /// Draws whether a transmission from now to `end` is lost; the channel has been advanced to now.
    pub fn loses(&mut self, end: Instant) -> bool {
        let (in_good, in_bad) = (self.config.good.loss, self.config.bad.loss);
        let loss = match self.good {
            _ if self.forced_by.is_some() => Probability::ONE,
            // The state changes during the transmission.
            _ if self.next_flip < end => in_good.max(in_bad),
            true => in_good,
            false => in_bad,
        };
        self.losses.happens(loss)
    }

    /// Counts a packet that is transmitted now, and returns whether it is to be lost. `first_octet` is the
    /// sequence number of its flow's first octet of data.
    pub fn is_to_lose(&mut self, packet: &Packet, first_octet: Seq) -> bool {
        let StateSource::Forced(losses) = &self.config.source else { return false };
        let Some(tcp) = packet.tcp().filter(|_| !packet.payload().is_empty()) else { return false };
        let seq = tcp.seq - first_octet;
        let mut is_to_lose = false;
        for (loss, passed) in losses.iter().zip(&mut self.passings) {
            if loss.seq != seq {
                continue;
            }
            *passed += 1;
            is_to_lose |= *passed == loss.passing;
        }
        is_to_lose
    }

    /// The first transmission of a packet to lose begins: the channel turns bad. `by` identifies the
    /// transmitter among those of the channel.
    pub fn force(&mut self, by: usize, now: Instant) -> Option<Flip> {
        self.forced_by.get_or_insert(by);
        std::mem::take(&mut self.good).then_some(Flip { at: now, good: false })
    }

    /// A packet is delivered or given up: a channel that was bad because of it is good again.
    pub fn packet_ends(&mut self, by: usize, now: Instant) -> Option<Flip> {
        if self.forced_by != Some(by) {
            return None;
        }
        self.forced_by = None;
        self.good = true;
        Some(Flip { at: now, good: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(config: ChannelConfig) -> Channel {
        Channel::new(config, Instant::ZERO, Rng::named(1, "stays"), Rng::named(1, "losses"))
    }

    #[test]
    fn the_share_of_bad_time_is_that_of_the_means() {
        let mut channel = channel(ChannelConfig::bursty(Duration::from_secs(5), Duration::from_millis(500)));
        let samples = 2_000_000;
        let lost = (0..samples)
            .filter(|sample| {
                channel.advance(Instant::from_millis(sample * 50), |_| {});
                channel.loses(Instant::ZERO)
            })
            .count();
        let share = lost as f64 / samples as f64;
        assert!((share - 0.5 / 5.5).abs() < 0.003, "{share}");
    }

    #[test]
    fn a_state_trace_is_followed() {
        let trace = StateTrace::from_changes(
            [(5, false), (9, true)].map(|(ms, good)| (Instant::from_millis(ms), good)),
        );
        let config = ChannelConfig {
            source: StateSource::Trace(Arc::new(trace)),
            ..ChannelConfig::bursty(Duration::from_secs(5), Duration::from_millis(500))
        };
        let mut channel = channel(config);
        let mut flips = Vec::new();
        let states = [4, 5, 8, 9, 500].map(|ms| {
            channel.advance(Instant::from_millis(ms), |flip| flips.push((flip.at.as_millis(), flip.good)));
            channel.loses(Instant::ZERO)
        });
        assert_eq!(states, [false, true, true, false, false]);
        assert_eq!(flips, [(5, false), (9, true)]);
    }

    #[test]
    fn a_change_to_the_same_state_is_none() {
        let trace = |changes: &[(u64, bool)]| {
            StateTrace::from_changes(changes.iter().map(|(ms, good)| (Instant::from_millis(*ms), *good)))
        };
        assert_eq!(
            trace(&[(3, true), (5, false), (6, false), (9, true), (12, true)]),
            trace(&[(5, false), (9, true)])
        );
    }

    #[test]
    fn a_perfect_channel_loses_nothing() {
        let mut channel = channel(ChannelConfig::PERFECT);
        channel.advance(Instant::from_secs(1_000_000), |_| panic!("it never changes"));
        assert!(!channel.loses(Instant::ZERO));
    }
}
