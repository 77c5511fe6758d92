//! The propagation delay of one direction of a link: what it is drawn from, and whether packets may
//! overtake each other.

use std::time::Duration;

use lasthop_packet::units::format_duration;
use lasthop_sim::delay::Correlation;
use lasthop_sim::{Delay, Distribution, Order};

use super::distribution::{DelayTable, Place};
use super::table::{DirectionTable, JitterDistribution, LinkTable, OrderName};
use crate::file::error::ScenarioError;
use crate::file::named::NameOrTable;
use crate::file::quantity::Text;
use crate::file::reader::{Key, Reader};

/// The delay in one direction: what the direction has of its own, and else what the link has.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    link: &LinkTable,
    (side, own): (&str, &DirectionTable),
) -> Result<Delay, ScenarioError> {
    let key_of = |key, is_own: bool| {
        if is_own { vec!["links", name, side, key] } else { vec!["links", name, key] }
    };
    let delay = own.delay.as_ref().or(link.delay.as_ref()).map(|NameOrTable(table)| table);
    let place = Place { reader, key: &key_of("delay", own.delay.is_some()) };
    // A direction that has its own distribution leaves out the jitter of the link.
    let leaves_out = own.delay.as_ref().is_some_and(|NameOrTable(table)| table.constant.is_none());
    let of_link = |jitter| if leaves_out { None } else { jitter };
    let jitter = Jitter {
        spread: own.jitter.or(of_link(link.jitter)),
        spread_key: &key_of("jitter", own.jitter.is_some()),
        distribution: own.jitter_distribution.or(if leaves_out { None } else { link.jitter_distribution }),
        distribution_key: &key_of("jitter-distribution", own.jitter_distribution.is_some()),
    };
    let constant = delay.is_none_or(|table| table.constant.is_some());
    let distribution = match delay {
        None => jitter.around(reader, Duration::ZERO)?,
        Some(DelayTable { constant: Some(delay), .. }) => {
            jitter.around(reader, place.time(&[], Some(Text(*delay)), Duration::ZERO)?)?
        }
        Some(table) => {
            jitter.refuse(reader)?;
            place.distribution(table)?
        }
    };
    let order = match own.order.or(link.order) {
        None | Some(OrderName::Kept) => Order::Kept,
        Some(OrderName::Overtake) => Order::Overtake,
    };
    let correlation = own.delay_correlation.or(if leaves_out { None } else { link.delay_correlation });
    let delay =
        Delay { distribution, order, correlation: correlation.map_or(Correlation::None, |Text(of)| of) };
    if let Err(problem) = check_correlation(&delay, correlation.is_some() && jitter.is_missing(constant)) {
        return Err(reader.fail(&key_of("delay-correlation", own.delay_correlation.is_some()), problem));
    }
    Ok(delay)
}

/// A correlation is of delays that vary, and one in time of delays that can move so far in it.
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
    fn around(&self, reader: &Reader<'_>, mean: Duration) -> Result<Distribution, ScenarioError> {
        let none = Duration::ZERO;
        let spread = reader.duration_in(self.spread_key, self.spread, none, none, mean)?;
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

    /// Whether a delay around which there could be jitter has none.
    const fn is_missing(&self, is_constant: bool) -> bool {
        is_constant && self.spread.is_none()
    }

    /// A delay with a distribution has none.
    fn refuse(&self, reader: &Reader<'_>) -> Result<(), ScenarioError> {
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
