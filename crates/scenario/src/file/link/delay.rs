//! The propagation delay of one direction of a link: its distribution, and whether packets may
//! overtake each other.

use std::sync::Arc;
use std::time::Duration;

use lasthop_config::FileError;
use lasthop_packet::Probability;
use lasthop_packet::units::format_duration;
use lasthop_sim::delay::{Band, Bands, Correlation};
use lasthop_sim::{Delay, Distribution, Order};

use super::distribution::{DelayTable, Place};
use super::table::{DirectionTable, JitterDistribution, LinkTable, OrderName};
use crate::file::named::NameOrTable;
use crate::file::quantity::Text;
use crate::file::reader::{Key, Reader};

/// The delay in one direction, from the direction's own keys or else from those of the link.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    link: &LinkTable,
    (side, own): (&str, &DirectionTable),
) -> Result<Delay, FileError> {
    let key_of = |key, is_own: bool| {
        if is_own { vec!["links", name, side, key] } else { vec!["links", name, key] }
    };
    let delay = own.delay.as_ref().or(link.delay.as_ref()).map(|NameOrTable(table)| table);
    let place = Place { reader, key: &key_of("delay", own.delay.is_some()) };
    // The jitter of the link does not apply to a direction that has its own distribution.
    let leaves_out = own.delay.as_ref().is_some_and(|NameOrTable(table)| table.constant.is_none());
    let of_link = |jitter| if leaves_out { None } else { jitter };
    let jitter = Jitter {
        spread: own.jitter.or(of_link(link.jitter)),
        spread_key: &key_of("jitter", own.jitter.is_some()),
        distribution: own.jitter_distribution.or(if leaves_out { None } else { link.jitter_distribution }),
        distribution_key: &key_of("jitter-distribution", own.jitter_distribution.is_some()),
    };
    let constant = delay.is_none_or(|table| table.constant.is_some());
    let mean = match delay {
        Some(DelayTable { constant: Some(delay), .. }) => {
            place.time(&[], Some(Text(*delay)), Duration::ZERO)?
        }
        _ => Duration::ZERO,
    };
    let distribution = match delay {
        Some(table) if !constant => {
            jitter.refuse(reader)?;
            place.distribution(table)?
        }
        _ => jitter.around(reader, mean)?,
    };
    let order = own.order.or(link.order);
    let correlation = own.delay_correlation.or(if leaves_out { None } else { link.delay_correlation });
    let correlated = correlation.map_or(Correlation::None, |Text(correlation)| correlation);
    let reorder = own.reorder.or(if leaves_out { None } else { link.reorder });
    if let Some(Text(share)) = reorder.filter(|Text(share)| !share.is_zero()) {
        let skipping = Skipping { share, is_constant: constant, order, correlated };
        let skipped = skipping.skip(&distribution);
        return skipped.map_err(|problem| reader.fail(&key_of("reorder", own.reorder.is_some()), problem));
    }
    let order = if order == Some(OrderName::Overtake) { Order::Overtake } else { Order::Kept };
    let delay = Delay { distribution, order, correlation: correlated };
    if let Err(problem) = check_correlation(&delay, correlation.is_some() && jitter.is_missing(constant)) {
        return Err(reader.fail(&key_of("delay-correlation", own.delay_correlation.is_some()), problem));
    }
    Ok(delay)
}

/// Packets that skip the delay of others (`reorder`).
struct Skipping {
    share: Probability,
    /// Whether the delay is one duration, with jitter or without.
    is_constant: bool,
    order: Option<OrderName>,
    correlated: Correlation,
}

impl Skipping {
    fn skip(&self, delay: &Distribution) -> Result<Delay, String> {
        let skipped = match *delay {
            _ if !self.is_constant => {
                return Err(
                    "the delay has its own distribution; expected a share of \"0 s\" among its bands"
                        .to_owned(),
                );
            }
            Distribution::Constant(delay) => (delay, delay),
            Distribution::Uniform { min, max } => (min, max),
            _ => return Err("not together with jitter-distribution; expected a uniform jitter".to_owned()),
        };
        if skipped.1.is_zero() {
            return Err(
                "requires a delay, such as \"20 ms\": without one there is nothing to skip".to_owned()
            );
        }
        if self.order == Some(OrderName::Kept) {
            return Err(
                "not together with order = \"kept\": packets that skip the delay overtake others".to_owned()
            );
        }
        if self.correlated != Correlation::None {
            return Err("not together with delay-correlation: each packet has a delay of its own".to_owned());
        }
        let share = self.share.value();
        let bands = [(share, (Duration::ZERO, Duration::ZERO)), (1.0 - share, skipped)];
        let bands = bands.into_iter().filter(|(share, _)| *share > 0.0);
        let bands = Bands::new(bands.map(|(share, (min, max))| Band { share, min, max }).collect());
        let bands = Arc::new(bands.map_err(|error| error.to_string())?);
        Ok(Delay {
            distribution: Distribution::Bands(bands),
            order: Order::Overtake,
            correlation: Correlation::None,
        })
    }
}

/// Refuses a correlation of a constant delay, and a correlation time that is too short for the
/// delay to cross its range.
fn check_correlation(delay: &Delay, varies_never: bool) -> Result<(), String> {
    if varies_never && delay.correlation != Correlation::None {
        return Err("requires delays that vary: jitter, or a delay with a distribution".to_owned());
    }
    match (&delay.distribution, delay.correlation) {
        (Distribution::Uniform { min, max }, Correlation::Time(crossing))
            if delay.order == Order::Kept && crossing < max.saturating_sub(*min) =>
        {
            Err(format!(
                "{} is out of range; expected at least {}, the difference of the longest and the shortest delay: in less \
                 time, packets would overtake each other",
                format_duration(crossing),
                format_duration(max.saturating_sub(*min))
            ))
        }
        _ => Ok(()),
    }
}

/// How a delay varies around one duration.
struct Jitter<'a> {
    spread: Option<Text<Duration>>,
    spread_key: &'a Key<'a>,
    distribution: Option<JitterDistribution>,
    distribution_key: &'a Key<'a>,
}

impl Jitter<'_> {
    fn around(&self, reader: &Reader<'_>, mean: Duration) -> Result<Distribution, FileError> {
        if let Some(Text(spread)) = self.spread.filter(|Text(spread)| *spread > mean) {
            let problem = format!(
                "{} is out of range; expected at most the delay, {}: no packet arrives before it is sent",
                format_duration(spread),
                format_duration(mean)
            );
            return Err(reader.fail(self.spread_key, problem));
        }
        let spread = self.spread.map_or(Duration::ZERO, |Text(spread)| spread);
        if self.spread.is_none() && self.distribution.is_some() {
            let problem = "requires jitter, such as jitter = \"2 ms\"";
            return Err(reader.fail(self.distribution_key, problem));
        }
        Ok(match self.distribution {
            _ if spread.is_zero() => Distribution::Constant(mean),
            None | Some(JitterDistribution::Uniform) => {
                Distribution::Uniform { min: mean.saturating_sub(spread), max: mean + spread }
            }
            Some(JitterDistribution::Normal) => Distribution::Normal { mean, deviation: spread },
        })
    }

    /// Whether a constant delay has no jitter.
    const fn is_missing(&self, is_constant: bool) -> bool {
        is_constant && self.spread.is_none()
    }

    /// Refuses jitter together with a delay that has a distribution.
    fn refuse(&self, reader: &Reader<'_>) -> Result<(), FileError> {
        if self.spread.is_some_and(|Text(spread)| !spread.is_zero()) {
            let problem = "the delay has its own distribution; jitter is not allowed with it";
            return Err(reader.fail(self.spread_key, problem));
        }
        if self.distribution.is_some() {
            let problem = "the delay has its own distribution; a jitter distribution is not allowed with it";
            return Err(reader.fail(self.distribution_key, problem));
        }
        Ok(())
    }
}
