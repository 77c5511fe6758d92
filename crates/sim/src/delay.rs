//! How long packets propagate, and whether they may overtake each other.

mod variation;

use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::{Probability, Rng};
use thiserror::Error;

use lasthop_packet::time::nanos;
pub(crate) use variation::Delays;

/// The one-way propagation delay of one direction of a link, drawn for each packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Delay {
    /// What it is drawn from.
    pub distribution: Distribution,
    /// Whether packets may overtake each other.
    pub order: Order,
    /// How the delays of successive packets are related.
    pub correlation: Correlation,
}

/// Whether packets on a link may overtake each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// No: one that would overtake arrives with the one before it.
    #[default]
    Kept,
    /// Yes: each arrives at its own time. Those of the same time arrive as they were sent.
    Overtake,
}

/// How the delays of successive packets are related. The distribution of all delays is the same.
///
/// Where the order is kept and delays are independent, a packet with a long delay holds up those behind
/// it: the faster packets follow each other, the nearer their mean delay is to the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Correlation {
    /// They are independent.
    #[default]
    None,
    /// The rank correlation of two successive delays, below 1. For a uniform distribution it is the
    /// correlation coefficient.
    Packets(Probability),
    /// The delay is a process in time: its rank in the distribution rises or falls at constant speed,
    /// and takes at least this time from the shortest to the longest. It turns at random times, this
    /// time apart in the mean, and at either end. Where the delay falls by less than time passes, no
    /// packet overtakes another: with a uniform distribution, if this is at least the difference of
    /// longest and shortest.
    Time(Duration),
}

/// What a delay is drawn from. Every distribution is bounded, and none goes below zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always this. Draws nothing.
    Constant(Duration),
    /// Every delay between these is as likely.
    Uniform {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// Normal; cut at three deviations to either side, and at zero.
    Normal {
        /// The mean, where nothing is cut at zero.
        mean: Duration,
        /// The standard deviation before the cut, which takes about a quarter of a percent off it.
        deviation: Duration,
    },
    /// A shortest delay, and exponentially distributed time on top of it; cut at
    /// [`EXPONENTIAL_CUT`] times the mean of that time, which one packet in 485 million would
    /// exceed.
    Exponential {
        /// The shortest.
        min: Duration,
        /// The mean, at least the shortest.
        mean: Duration,
    },
    /// A mixture of ranges.
    Bands(Arc<Bands>),
}

/// The most that an exponentially distributed time can be, in means.
pub const EXPONENTIAL_CUT: f64 = 20.0;

/// A range of delays in a mixture; each delay in it is as likely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// The part of the packets whose delay is in this band, from 0 to 1.
    pub share: f64,
    /// The shortest delay.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

/// A mixture of ranges of delays; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    bands: Vec<Band>,
    /// For each band, the sum of the shares up to its end; the last is 1.
    ends: Vec<f64>,
}

/// Shares that sum to one within this are taken to do so: a file may have rounded them.
const ROUNDING: f64 = 0.001;

/// Why there is no such mixture.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum BandsError {
    /// A share is not above 0 and at most 1.
    #[error("the share is out of range; expected above 0%, at most 100%")]
    Share {
        /// Which band, from 0.
        band: usize,
    },
    /// A band whose end is before its beginning.
    #[error("the longest delay is below the shortest")]
    Range {
        /// Which band, from 0.
        band: usize,
    },
    /// Not all packets, or more than all, have a band.
    #[error("the shares sum to {:.2}%; expected 100%", sum * 100.0)]
    Sum {
        /// What the shares sum to.
        sum: f64,
    },
}

impl Bands {
    /// A mixture of bands, whose shares sum to 1.
    pub fn new(bands: Vec<Band>) -> Result<Self, BandsError> {
        let mut sum = 0.0;
        let mut ends = Vec::with_capacity(bands.len());
        for (band, &Band { share, min, max }) in bands.iter().enumerate() {
            if !(share > 0.0 && share <= 1.0) {
                return Err(BandsError::Share { band });
            }
            if min > max {
                return Err(BandsError::Range { band });
            }
            sum += share;
            ends.push(sum);
        }
        if (sum - 1.0).abs() > ROUNDING {
            return Err(BandsError::Sum { sum });
        }
        for end in &mut ends {
            *end /= sum;
        }
        Ok(Self { bands, ends })
    }

    /// The bands.
    pub fn bands(&self) -> &[Band] {
        &self.bands
    }

    /// The delay, in nanoseconds, that this part of all delays is below: the inverse of the
    /// distribution function.
    fn quantile(&self, part: f64) -> f64 {
        let index = self.ends.partition_point(|end| *end <= part).min(self.bands.len() - 1);
        let begin = if index == 0 { 0.0 } else { self.ends[index - 1] };
        let Band { min, max, .. } = self.bands[index];
        let within = ((part - begin) / (self.ends[index] - begin)).clamp(0.0, 1.0);
        let min = nanos(min) as f64;
        min + (nanos(max) as f64 - min) * within
    }

    fn mean(&self) -> f64 {
        let shares = std::iter::once(0.0).chain(self.ends.iter().copied()).zip(&self.ends);
        let of = |((begin, end), band): ((f64, &f64), &Band)| {
            (end - begin) * (nanos(band.min) as f64 + nanos(band.max) as f64) / 2.0
        };
        shares.zip(&self.bands).map(of).sum()
    }
}

impl From<Duration> for Delay {
    /// A constant delay.
    fn from(delay: Duration) -> Self {
        Distribution::Constant(delay).into()
    }
}

impl From<Distribution> for Delay {
    /// In order.
    fn from(distribution: Distribution) -> Self {
        Self { distribution, order: Order::Kept, correlation: Correlation::None }
    }
}

impl Delay {
    /// No delay.
    pub const ZERO: Self = Self {
        distribution: Distribution::Constant(Duration::ZERO),
        order: Order::Kept,
        correlation: Correlation::None,
    };

    /// The delay, if it is always the same.
    pub const fn constant(&self) -> Option<Duration> {
        match self.distribution {
            Distribution::Constant(delay) => Some(delay),
            _ => None,
        }
    }
}

impl Distribution {
    /// The mean; of a normal distribution, as if nothing were cut at zero.
    pub fn mean(&self) -> Duration {
        match self {
            Self::Constant(delay) => *delay,
            Self::Uniform { min, max } => (*min + *max) / 2,
            Self::Normal { mean, .. } | Self::Exponential { mean, .. } => *mean,
            Self::Bands(bands) => Duration::from_nanos(bands.mean().round() as u64),
        }
    }

    /// A delay in nanoseconds. A constant one draws nothing.
    #[inline]
    fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Constant(delay) => nanos(*delay),
            varied => varied.draw_varied(rng),
        }
    }

    fn draw_varied(&self, rng: &mut Rng) -> u64 {
        let of = |duration: &Duration| duration.as_nanos() as f64;
        let delay = match self {
            Self::Constant(delay) => of(delay),
            Self::Uniform { min, max } => {
                let (middle, half) = (of(&(*min + *max)) / 2.0, (of(max) - of(min)) / 2.0);
                middle + (2.0 * rng.uniform() - 1.0) * half
            }
            Self::Normal { mean, deviation } => of(mean) + rng.normal().clamp(-3.0, 3.0) * of(deviation),
            Self::Exponential { min, mean } => {
                let over = mean.saturating_sub(*min);
                of(min) + of(&rng.exponential(over)).min(EXPONENTIAL_CUT * of(&over))
            }
            Self::Bands(bands) => bands.quantile(rng.uniform()),
        };
        delay.max(0.0).round() as u64
    }
}

#[cfg(test)]
mod tests;
