//! The delays of one direction of a link at work: each packet's, one after the other.

use std::time::Duration;

use lasthop_packet::{Instant, Rng};

use super::{Correlation, Delay, Distribution, Order};

/// Draws the delays of one direction.
#[derive(Debug)]
pub(crate) struct Delays {
    delay: Delay,
    /// Its own stream, so that delays change nothing about which packets are lost.
    rng: Rng,
    /// The state that the next delay depends on; `None` if it depends on nothing, and before the first.
    memory: Option<Memory>,
}

/// Where the delay of the previous packet was within its distribution.
#[derive(Clone, Copy, Debug)]
enum Memory {
    /// As a normal deviate.
    Normal(f64),
    /// As the share of delays that are shorter.
    Wandering(Wandering),
}

impl Delays {
    pub(crate) fn new(delay: &Delay, rng: Rng) -> Self {
        Self { delay: delay.clone(), rng, memory: None }
    }

    /// From now on delays are those of another distribution.
    pub(crate) fn set(&mut self, delay: &Delay) {
        self.delay = delay.clone();
        self.memory = None;
    }

    pub(crate) const fn config(&self) -> &Delay {
        &self.delay
    }

    /// When a packet arrives that has been sent at `sent`, while the last that is on its way arrives
    /// at `last`.
    #[inline]
    pub(crate) fn arrival(&mut self, sent: Instant, last: Option<Instant>) -> Instant {
        let delay = self.draw(sent);
        self.in_order(sent.after_nanos(delay), last)
    }

    /// When a packet arrives that would do so at `arrival`.
    #[inline]
    pub(crate) fn in_order(&self, arrival: Instant, last: Option<Instant>) -> Instant {
        match self.delay.order {
            Order::Kept => last.map_or(arrival, |last| arrival.max(last)),
            Order::Overtake => arrival,
        }
    }

    /// The delay of a packet that is sent at `sent`, in nanoseconds.
    #[inline]
    pub(crate) fn draw(&mut self, sent: Instant) -> u64 {
        match self.delay.correlation {
            Correlation::None => self.delay.distribution.draw(&mut self.rng),
            Correlation::Packets(correlation) => {
                // The correlation of normal deviates whose ranks have this one (Pearson 1907).
                let of_normal = 2.0 * libm::sin(std::f64::consts::PI / 6.0 * correlation.value());
                self.after_previous(of_normal)
            }
            Correlation::Time(crossing) => self.at(sent, crossing),
        }
    }

    /// The last packet that has drawn its delay leaves at `end` after all. The process continues from there: it
    /// stands still while the link does.
    pub(crate) fn set_last(&mut self, end: Instant) {
        if let Some(Memory::Wandering(wandering)) = &mut self.memory {
            wandering.at = end;
        }
    }

    #[cold]
    fn after_previous(&mut self, correlation: f64) -> u64 {
        let new = self.rng.normal();
        let deviate = match self.memory {
            Some(Memory::Normal(previous)) => {
                correlation * previous + libm::sqrt(1.0 - correlation * correlation) * new
            }
            _ => new,
        };
        self.memory = Some(Memory::Normal(deviate));
        let share = libm::erfc(-deviate / std::f64::consts::SQRT_2) / 2.0;
        self.delay.distribution.at(share)
    }

    #[cold]
    fn at(&mut self, sent: Instant, crossing: Duration) -> u64 {
        let mut wandering = match self.memory {
            Some(Memory::Wandering(wandering)) => wandering,
            _ => Wandering::begin(sent, &mut self.rng),
        };
        wandering.advance(sent, crossing, &mut self.rng);
        self.memory = Some(Memory::Wandering(wandering));
        self.delay.distribution.at(wandering.share)
    }
}

/// A share that rises or falls at a constant speed between 0 and 1. It turns at either end, and at
/// random times between. In the long run it is uniformly distributed, so that delays at this share of
/// their distribution have that distribution, whenever they are drawn.
#[derive(Clone, Copy, Debug)]
struct Wandering {
    share: f64,
    rises: bool,
    /// Until it turns at random, in the time that it takes from 0 to 1.
    to_turn: f64,
    at: Instant,
}

/// After this many times the way from 0 to 1, its position is independent of the last one, and is drawn
/// at random.
const FORGOTTEN: f64 = 50.0;

impl Wandering {
    fn begin(at: Instant, rng: &mut Rng) -> Self {
        Self { share: rng.uniform(), rises: rng.uniform() < 0.5, to_turn: exponential(rng), at }
    }

    fn advance(&mut self, now: Instant, crossing: Duration, rng: &mut Rng) {
        // While a link is stalled, the time at which a packet leaves is unknown.
        if now == Instant::MAX {
            return;
        }
        let elapsed = now.as_nanos().saturating_sub(self.at.as_nanos());
        let mut left = elapsed as f64 / crossing.as_nanos().max(1) as f64;
        if left > FORGOTTEN {
            *self = Self::begin(now, rng);
            return;
        }
        self.at = self.at.max(now);
        while left > 0.0 {
            let to_end = if self.rises { 1.0 - self.share } else { self.share };
            let step = left.min(self.to_turn).min(to_end);
            self.share = (self.share + if self.rises { step } else { -step }).clamp(0.0, 1.0);
            self.to_turn -= step;
            left -= step;
            if left > 0.0 {
                self.rises = !self.rises;
                if self.to_turn <= 0.0 {
                    self.to_turn = exponential(rng);
                }
            }
        }
    }
}

/// An exponentially distributed number with mean 1.
fn exponential(rng: &mut Rng) -> f64 {
    -libm::log(1.0 - rng.uniform())
}

impl Distribution {
    /// A delay in nanoseconds, at this share of all: the inverse of the distribution function.
    fn at(&self, share: f64) -> u64 {
        let of = |duration: &Duration| duration.as_nanos() as f64;
        let delay = match self {
            Self::Constant(delay) => of(delay),
            Self::Uniform { min, max } => of(min) + share * (of(max) - of(min)),
            Self::Normal { mean, deviation } => of(mean) + normal_at(share).clamp(-3.0, 3.0) * of(deviation),
            Self::Exponential { min, mean } => {
                let over = of(&mean.saturating_sub(*min));
                of(min) + over * (-libm::log(1.0 - share)).min(super::EXPONENTIAL_CUT)
            }
            Self::Bands(bands) => bands.quantile(share),
        };
        delay.max(0.0).round() as u64
    }
}

/// The normal deviate that this share of all is below, within 1e-6: the algorithm PPND7 of Wichura
/// (Applied Statistics 37, 1988, AS 241).
fn normal_at(share: f64) -> f64 {
    let horner = |coefficients: &[f64], at: f64| coefficients.iter().rev().fold(0.0, |sum, c| sum * at + c);
    let q = share - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * horner(&[3.387_132_717_9, 50.434_271_938, 159.291_132_02, 59.109_374_72], r)
            / horner(&[1.0, 17.895_169_469, 78.757_757_664, 67.187_563_6], r);
    }
    let tail = share.min(1.0 - share);
    if tail <= 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = libm::sqrt(-libm::log(tail));
    let deviate = if r <= 5.0 {
        let r = r - 1.6;
        horner(&[1.423_437_277_7, 2.756_815_39, 1.306_728_481_6, 0.170_238_211_03], r)
            / horner(&[1.0, 0.737_001_642_5, 0.120_211_329_75], r)
    } else {
        let r = r - 5.0;
        horner(&[6.657_905_115, 3.081_226_386, 0.428_682_943_37, 0.017_337_203_997], r)
            / horner(&[1.0, 0.241_978_942_25, 0.012_258_202_635], r)
    };
    deviate.copysign(q)
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Probability;

    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn jitter() -> Distribution {
        Distribution::Uniform { min: ms(70), max: ms(130) }
    }

    /// Delays in milliseconds, a packet every `gap`.
    fn delays(distribution: Distribution, correlation: Correlation, gap: Duration, packets: u64) -> Vec<f64> {
        let delay = Delay { correlation, ..distribution.into() };
        let mut delays = Delays::new(&delay, Rng::named(9, "delays"));
        let mut last = None;
        let mut arrive = |packet: u64| {
            let sent = Instant::ZERO + gap * packet as u32;
            let arrival = delays.arrival(sent, last);
            last = Some(arrival);
            arrival.since(sent).as_secs_f64() * 1e3
        };
        (0..packets).map(&mut arrive).collect()
    }

    fn mean(delays: &[f64]) -> f64 {
        delays.iter().sum::<f64>() / delays.len() as f64
    }

    fn correlation(delays: &[f64], lag: usize) -> f64 {
        let mean = mean(delays);
        let product = |pair: (&f64, &f64)| (pair.0 - mean) * (pair.1 - mean);
        let both: f64 = delays.iter().zip(&delays[lag..]).map(product).sum();
        both / delays.iter().zip(delays).map(product).sum::<f64>()
    }

    #[test]
    fn the_normal_deviate_of_a_share_is_the_inverse_of_the_distribution_function() {
        for deviate in [-8.0, -5.5, -3.0, -1.2, -0.4, 0.0, 0.1, 1.0, 2.5, 4.0] {
            let share = libm::erfc(-deviate / std::f64::consts::SQRT_2) / 2.0;
            assert!((normal_at(share) - deviate).abs() < 2e-6 * (1.0 + deviate.abs()), "{deviate}");
        }
        assert!(normal_at(0.0) < f64::MIN && normal_at(1.0) > f64::MAX, "infinite");
    }

    /// The packets of a fast sender arrive at the pace of the longest delays, if each draws its own.
    #[test]
    fn independent_delays_in_order_have_a_mean_that_rises_with_the_rate() {
        let mean_at = |gap| mean(&delays(jitter(), Correlation::None, gap, 50_000));
        assert!((mean_at(ms(100)) - 100.0).abs() < 0.5);
        assert!(mean_at(Duration::from_micros(333)) > 124.0);
    }

    #[test]
    fn delays_that_wander_have_their_mean_and_range_at_any_rate_and_overtake_nothing() {
        let distributions = [
            (jitter(), 100.0, (70.0, 130.0)),
            (Distribution::Normal { mean: ms(100), deviation: ms(10) }, 100.0, (70.0, 130.0)),
            (Distribution::Exponential { min: ms(20), mean: ms(50) }, 50.0, (20.0, 620.0)),
        ];
        for (distribution, expected, (least, most)) in distributions {
            for (gap, packets) in
                [(Duration::from_micros(50), 400_000), (ms(1), 1_000_000), (ms(300), 100_000)]
            {
                let crossing = if gap < ms(1) { ms(100) } else { ms(2000) };
                let smooth =
                    Delay { correlation: Correlation::Time(crossing), ..distribution.clone().into() };
                let free = Delay { order: Order::Overtake, ..smooth.clone() };
                let drawn = |delay: &Delay| {
                    let mut delays = Delays::new(delay, Rng::named(2, "delays"));
                    let mut last = None;
                    let (mut sum, mut overtakes) = (0.0, 0);
                    for packet in 0..packets {
                        let sent = Instant::ZERO + gap * packet;
                        let arrival = delays.arrival(sent, last);
                        let delay = arrival.since(sent).as_secs_f64() * 1e3;
                        assert!((least..=most).contains(&delay), "{delay}");
                        overtakes += u32::from(last.is_some_and(|last| arrival < last));
                        last = Some(arrival);
                        sum += delay;
                    }
                    (sum / f64::from(packets), overtakes)
                };
                let (mean, overtakes) = drawn(&free);
                // A path of so many crossings; the estimate varies that much.
                let crossings = gap.as_secs_f64() * f64::from(packets) / crossing.as_secs_f64();
                let tolerance = expected * 1.5 / crossings.sqrt();
                assert!((mean - expected).abs() < tolerance, "{distribution:?} {gap:?}: {mean}");
                if distribution == jitter() {
                    assert_eq!(overtakes, 0, "{gap:?}");
                    assert!((drawn(&smooth).0 - mean).abs() < f64::EPSILON, "order costs nothing");
                }
            }
        }
    }

    #[test]
    fn successive_delays_have_their_correlation_and_their_distribution() {
        let percent = |value: f64| Correlation::Packets(Probability::new(value / 100.0).expect("0 to 100"));
        for share in [0.0, 25.0, 90.0] {
            let delays = delays(jitter(), percent(share), ms(100), 300_000);
            assert!((mean(&delays) - 100.0).abs() < 0.5, "{share}");
            assert!((correlation(&delays, 1) - share / 100.0).abs() < 0.01, "{share}");
            let deviation = delays.iter().map(|delay| (delay - 100.0).powi(2)).sum::<f64>() / 300_000.0;
            assert!((deviation.sqrt() - 60.0 / 12f64.sqrt()).abs() < 0.3, "{share}");
        }
        assert!(correlation(&delays(jitter(), percent(90.0), ms(100), 300_000), 30).abs() < 0.08);
    }

    #[test]
    fn time_that_goes_back_or_jumps_is_taken_as_it_comes() {
        let delay = Delay { correlation: Correlation::Time(ms(1)), ..jitter().into() };
        let mut delays = Delays::new(&delay, Rng::named(1, "delays"));
        let first = delays.draw(Instant::from_millis(10));
        assert_eq!(delays.draw(Instant::from_millis(4)), first);
        for at in [Instant::from_secs(1_000_000), Instant::MAX, Instant::ZERO] {
            assert!((70_000_000..=130_000_000).contains(&delays.draw(at)));
        }
    }
}
