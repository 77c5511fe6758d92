//! One direction of a link: its rate, its queue, its loss, its delay.

use lasthop_config::FileError;
use lasthop_packet::Probability;
use lasthop_sim::{Capacity, Direction, Faults, Loss};

use super::delay;
use super::queue::{self, Defaults};
use super::table::{DirectionTable, LinkTable};
use crate::file::quantity::{LinkRate, Text};
use crate::file::reader::Reader;

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &LinkTable,
    side: &str,
    own: &DirectionTable,
) -> Result<Direction, FileError> {
    let defaults = Defaults::default();
    let queue = match &own.queue {
        Some(queue) => queue::read(reader, &["links", name, side, "queue"], Some(queue), defaults)?,
        None => queue::read(reader, &["links", name, "queue"], table.queue.as_ref(), defaults)?,
    };
    let share = |own: Option<Text<Probability>>, of_both: Option<Text<Probability>>| {
        own.or(of_both).map_or(Probability::ZERO, |Text(share)| share)
    };
    let loss = own.loss.as_ref().or(table.loss.as_ref()).map_or(Loss::NONE, |Text(loss)| loss.clone());
    let faults = Faults {
        duplicate: share(own.duplicate, table.duplicate),
        corrupt: share(own.corrupt, table.corrupt),
    };
    let capacity = capacity(reader, name, table, side, own)?;
    let delay = delay::read(reader, name, table, (side, own))?;
    Ok(Direction { capacity, queue, loss, delay, faults })
}

/// A direction's own rate and trace, or else the link's.
fn effective_rate<'a>(table: &'a LinkTable, own: &'a DirectionTable) -> (Option<LinkRate>, Option<&'a str>) {
    match (own.rate, own.trace.as_deref()) {
        (None, None) => (table.rate.map(|Text(rate)| rate), table.trace.as_deref()),
        // The direction follows the trace of the link.
        (Some(Text(LinkRate::Trace)), None) => (Some(LinkRate::Trace), table.trace.as_deref()),
        (rate, trace) => (rate.map(|Text(rate)| rate), trace),
    }
}

fn capacity(
    reader: &Reader<'_>,
    name: &str,
    table: &LinkTable,
    side: &str,
    own: &DirectionTable,
) -> Result<Capacity, FileError> {
    let key_of = |key| {
        let has_own = if key == "rate" { own.rate.is_some() } else { own.trace.is_some() };
        if has_own { vec!["links", name, side, key] } else { vec!["links", name, key] }
    };
    match effective_rate(table, own) {
        (None, None) => Err(reader.fail(
            &["links", name],
            format!("no rate in its {side} direction; expected a rate, such as rate = \"11 Mbit/s\""),
        )),
        (Some(LinkRate::Fixed(_) | LinkRate::Stalled), Some(_)) => {
            let problem = "both a fixed rate and a trace; expected one of them, or rate = \"trace\"";
            Err(reader.fail(&key_of("trace"), problem))
        }
        (Some(LinkRate::Fixed(rate)), None) => Ok(Capacity::Fixed(rate)),
        (Some(LinkRate::Stalled), None) => Ok(Capacity::Stalled),
        (_, trace) => {
            let (key, path) = match (&reader.overrides.trace, trace) {
                (Some(given), _) => (key_of("rate"), given.clone()),
                (None, Some(named)) => (key_of("trace"), reader.beside(named)),
                (None, None) => {
                    let problem = "the rate follows a trace; give one with --trace FILE, or name it with trace = \"FILE\"";
                    return Err(reader.fail(&key_of("rate"), problem));
                }
            };
            reader.named_files.trace(&path).map(Capacity::Trace).map_err(|problem| reader.fail(&key, problem))
        }
    }
}

/// Whether either direction's rate follows a trace.
pub(super) fn follows_a_trace(link: &LinkTable) -> bool {
    [&link.forward, &link.backward].into_iter().any(|direction| {
        let (rate, trace) = effective_rate(link, direction);
        matches!(rate, Some(LinkRate::Trace)) || (rate.is_none() && trace.is_some())
    })
}
