//! A link's table to its model.

use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::units::cut_to_ticks;
use lasthop_packet::{Bitrate, Probability};
use lasthop_sim::wireless::StateTrace;
use lasthop_sim::{
    Capacity, ChannelConfig, Direction, Feedback, Jitter, LinkLayer, QueueLimit, Sojourn, StateSource,
    WiredConfig, WirelessConfig,
};

use super::choice::{LinkLayerKind, LinkLayerTable};
use super::error::ScenarioError;
use super::named::NameOrTable;
use super::quantity::{Mac, Octets, Rate, Text};
use super::reader::{Key, LONGEST_DELAY, Reader};
use super::tables::{ChannelTable, DirectionTable, JitterDistribution, LinkTable, Medium, StayTable};
use super::text::read_text;
use super::trace::LARGEST_TRACE;
use crate::model::{Link, LinkModel};

/// As many as Linux queues on an interface that nobody tuned, within an order of magnitude.
const QUEUE: QueueLimit = QueueLimit::Packets(100);
/// A stay shorter than this is shorter than any frame; to simulate it would only take time.
const SHORTEST_STAY: Duration = Duration::from_micros(10);

pub(super) fn read(reader: &Reader<'_>, name: &str, table: LinkTable) -> Result<LinkModel, ScenarioError> {
    let ends = ends(reader, name, &table)?;
    if table.kind == Medium::Wired {
        refuse_on_a_wired_link(reader, name, &table)?;
    }
    let none = Duration::ZERO;
    let delay = reader.duration_in(&["links", name, "delay"], table.delay, none, none, LONGEST_DELAY)?;
    let jitter = jitter(reader, name, &table, delay)?;
    let clock = clock(reader, name, &table, delay)?;
    let forward = direction(reader, name, &table, "forward", &table.forward)?;
    let backward = direction(reader, name, &table, "backward", &table.backward)?;
    let name_of_link = name.to_owned();
    let link = match table.kind {
        Medium::Wired => Link::Wired(WiredConfig {
            name: name_of_link,
            forward,
            backward,
            delay,
            jitter,
            clock,
            seed: None,
        }),
        Medium::Wireless => {
            if let (Some(Text(Mac::Ideal)), None) = (table.mac, &table.cell) {
                return Err(reader.fail(
                    &["links", name, "mac"],
                    "a link of its own shares no medium; expected cell = \"NAME\" with it",
                ));
            }
            let link_layer = match table.link_layer {
                Some(entry) => link_layer(reader, name, &entry, (&forward, &backward), delay, clock)?,
                None => LinkLayer::UNRELIABLE,
            };
            if jitter != Jitter::None && matches!(link_layer.feedback, Feedback::Acknowledged { .. }) {
                let problem = "a \"stop-and-wait\" link layer knows how long an acknowledgment takes; expected no jitter with it";
                return Err(reader.fail(&["links", name, "jitter"], problem));
            }
            let channel = match table.channel {
                Some(table) => channel(reader, &["links", name, "channel"], &table)?,
                None => ChannelConfig::PERFECT,
            };
            let config = WirelessConfig {
                name: name_of_link,
                forward,
                backward,
                delay,
                jitter,
                clock,
                channel,
                link_layer,
                medium: None,
                seed: None,
            };
            Link::Wireless { config, cell: table.cell }
        }
    };
    Ok(LinkModel { ends, link })
}

/// Whether either direction's rate follows a trace.
pub(super) fn follows_a_trace(link: &LinkTable) -> bool {
    [&link.forward, &link.backward].into_iter().any(|direction| {
        let (rate, trace) = effective_rate(link, direction);
        matches!(rate, Some(Rate::Trace)) || (rate.is_none() && trace.is_some())
    })
}

fn ends(reader: &Reader<'_>, name: &str, table: &LinkTable) -> Result<(usize, usize), ScenarioError> {
    let key = ["links", name, "between"];
    let (first, _) = reader.node(&key, &table.between[0])?;
    let (second, _) = reader.node(&key, &table.between[1])?;
    if first == second {
        let problem = format!("a link from {:?} to itself; expected two nodes", table.between[0]);
        return Err(reader.fail(&key, problem));
    }
    Ok((first, second))
}

fn refuse_on_a_wired_link(reader: &Reader<'_>, name: &str, table: &LinkTable) -> Result<(), ScenarioError> {
    let wireless_only = [
        ("channel", table.channel.is_some()),
        ("link-layer", table.link_layer.is_some()),
        ("cell", table.cell.is_some()),
        ("mac", table.mac.is_some()),
        ("trace", table.trace.is_some()),
        ("rate", matches!(table.rate, Some(Text(Rate::Trace)))),
    ];
    let of_a_direction = |direction: &DirectionTable| {
        [("trace", direction.trace.is_some()), ("rate", matches!(direction.rate, Some(Text(Rate::Trace))))]
    };
    let problem = "the link is wired; expected this only with kind = \"wireless\"";
    if let Some((key, _)) = wireless_only.into_iter().find(|(_, given)| *given) {
        return Err(reader.fail(&["links", name, key], problem));
    }
    for (side, direction) in [("forward", &table.forward), ("backward", &table.backward)] {
        if let Some((key, _)) = of_a_direction(direction).into_iter().find(|(_, given)| *given) {
            return Err(reader.fail(&["links", name, side, key], problem));
        }
    }
    Ok(())
}

fn jitter(
    reader: &Reader<'_>,
    name: &str,
    table: &LinkTable,
    delay: Duration,
) -> Result<Jitter, ScenarioError> {
    let none = Duration::ZERO;
    let spread = reader.duration_in(&["links", name, "jitter"], table.jitter, none, none, delay)?;
    if table.jitter.is_none() && table.jitter_distribution.is_some() {
        let problem = "there is no jitter; expected jitter = \"2 ms\" or so with it";
        return Err(reader.fail(&["links", name, "jitter-distribution"], problem));
    }
    Ok(match table.jitter_distribution {
        _ if spread.is_zero() => Jitter::None,
        None | Some(JitterDistribution::Uniform) => Jitter::Uniform(spread),
        Some(JitterDistribution::Normal) => Jitter::Normal(spread),
    })
}

fn clock(
    reader: &Reader<'_>,
    name: &str,
    table: &LinkTable,
    delay: Duration,
) -> Result<Duration, ScenarioError> {
    let key = ["links", name, "clock"];
    let (least, most) = (Duration::from_millis(1), Duration::from_secs(1));
    let clock = reader.duration_in(&key, table.clock, Duration::ZERO, least, most)?;
    if !clock.is_zero() && delay.is_zero() {
        // Cut down to nothing and without delay, packets could go round for ever at one moment.
        return Err(reader.fail(&key, "a link with a clock needs a delay above zero"));
    }
    Ok(clock)
}

fn direction(
    reader: &Reader<'_>,
    name: &str,
    table: &LinkTable,
    side: &str,
    own: &DirectionTable,
) -> Result<Direction, ScenarioError> {
    let queue = own.queue.or(table.queue).map_or(QUEUE, |Text(queue)| queue);
    let loss = own.loss.or(table.loss).map_or(Probability::ZERO, |Text(loss)| loss);
    Ok(Direction { capacity: capacity(reader, name, table, side, own)?, queue, loss })
}

/// A direction's own rate and trace, or else the link's.
fn effective_rate<'a>(table: &'a LinkTable, own: &'a DirectionTable) -> (Option<Rate>, Option<&'a str>) {
    match (own.rate, own.trace.as_deref()) {
        (None, None) => (table.rate.map(|Text(rate)| rate), table.trace.as_deref()),
        // The direction says that it follows a trace, the link says which.
        (Some(Text(Rate::Trace)), None) => (Some(Rate::Trace), table.trace.as_deref()),
        (rate, trace) => (rate.map(|Text(rate)| rate), trace),
    }
}

fn capacity(
    reader: &Reader<'_>,
    name: &str,
    table: &LinkTable,
    side: &str,
    own: &DirectionTable,
) -> Result<Capacity, ScenarioError> {
    let key_of = |key| {
        let has_own = if key == "rate" { own.rate.is_some() } else { own.trace.is_some() };
        if has_own { vec!["links", name, side, key] } else { vec!["links", name, key] }
    };
    match effective_rate(table, own) {
        (None, None) => Err(reader.fail(
            &["links", name],
            format!("no rate in its {side} direction; expected a rate, such as rate = \"11 Mbit/s\""),
        )),
        (Some(Rate::Fixed(_)), Some(_)) => {
            let problem = "a fixed rate and a trace; expected one of them, or rate = \"trace\"";
            Err(reader.fail(&key_of("trace"), problem))
        }
        (Some(Rate::Fixed(rate)), None) => Ok(Capacity::Fixed(rate)),
        (_, trace) => {
            let (key, path) = match (&reader.overrides.trace, trace) {
                (Some(given), _) => (key_of("rate"), given.clone()),
                (None, Some(named)) => (key_of("trace"), reader.beside(named)),
                (None, None) => {
                    let problem = "the rate follows a trace; give one with --trace FILE, or name it with trace = \"FILE\"";
                    return Err(reader.fail(&key_of("rate"), problem));
                }
            };
            reader.traces.get(&path).map(Capacity::Trace).map_err(|problem| reader.fail(&key, problem))
        }
    }
}

/// The two-state error process whose table stands at `place`.
pub(super) fn channel(
    reader: &Reader<'_>,
    place: &Key<'_>,
    table: &ChannelTable,
) -> Result<ChannelConfig, ScenarioError> {
    let stay = |state: &str, stay: &StayTable, default: Probability| {
        let key: &Key<'_> = &[place, &[state, "mean"]].concat();
        let loss = stay.loss.map_or(default, |Text(loss)| loss);
        let mean = match (stay.mean, &table.states) {
            (Some(_), Some(_)) => {
                return Err(reader.fail(key, "the states are recorded; expected no mean beside `states`"));
            }
            (None, Some(_)) => Duration::ZERO,
            (None, None) => {
                let problem =
                    "a mean is missing; expected how long a stay lasts in the mean, such as mean = \"5 s\"";
                return Err(reader.fail(key, problem));
            }
            (Some(Text(mean)), None) if mean >= SHORTEST_STAY || (mean.is_zero() && state == "bad") => mean,
            (Some(_), None) => return Err(reader.fail(key, "expected a mean of \"10 us\" or more")),
        };
        Ok(Sojourn { mean, loss })
    };
    Ok(ChannelConfig {
        good: stay("good", &table.good, Probability::ZERO)?,
        bad: stay("bad", &table.bad, Probability::ONE)?,
        source: match &table.states {
            None => StateSource::Markov,
            Some(states) => {
                let path = reader.beside(states);
                let fail = |problem: String| reader.fail(&[place, &["states"]].concat(), problem);
                let text = read_text(&path, LARGEST_TRACE).map_err(|error| fail(error.to_string()))?;
                let trace =
                    StateTrace::parse(&text).map_err(|error| fail(format!("{}: {error}", path.display())))?;
                StateSource::Trace(Arc::new(trace))
            }
        },
    })
}

fn link_layer(
    reader: &Reader<'_>,
    name: &str,
    NameOrTable(table): &NameOrTable<LinkLayerTable>,
    directions: (&Direction, &Direction),
    delay: Duration,
    clock: Duration,
) -> Result<LinkLayer, ScenarioError> {
    let key = |key| ["links", name, "link-layer", key];
    let meaningless = [
        (
            "retransmission-attempts",
            table.retransmission_attempts.is_some(),
            table.kind == LinkLayerKind::None,
        ),
        ("ack-timeout", table.ack_timeout.is_some(), table.kind != LinkLayerKind::StopAndWait),
        ("ack-size", table.ack_size.is_some(), table.kind != LinkLayerKind::StopAndWait),
    ];
    if let Some((wrong, ..)) = meaningless.into_iter().find(|(_, given, senseless)| *given && *senseless) {
        return Err(reader.fail(&key(wrong), "it means nothing to this kind of link layer; leave it out"));
    }
    let retransmission_attempts = table.retransmission_attempts.unwrap_or(8);
    if retransmission_attempts > 1000 {
        return Err(reader.fail(&key("retransmission-attempts"), "expected 0 to 1000"));
    }
    let feedback = match table.kind {
        LinkLayerKind::None => return Ok(LinkLayer::UNRELIABLE),
        LinkLayerKind::Immediate => Feedback::Immediate,
        LinkLayerKind::StopAndWait => {
            let ack_octets = table.ack_size.map_or(14, |Text(Octets(octets))| octets);
            if !(1..=1500).contains(&ack_octets) {
                return Err(reader.fail(&key("ack-size"), "expected \"1 B\" to \"1500 B\""));
            }
            let way = acknowledgment_way(directions, ack_octets, delay, clock);
            if table.ack_timeout.is_none() && way.is_none() {
                let problem =
                    "ack-timeout is missing; expected one where the rate follows a trace, such as \"20 ms\"";
                return Err(reader.fail(&["links", name, "link-layer"], problem));
            }
            // A sender that stops waiting before an acknowledgment can be there repeats every
            // frame.
            let least = way.unwrap_or(delay * 2).max(Duration::from_micros(1));
            let default = way.unwrap_or_default() + GUARD;
            let most = Duration::from_secs(10).max(default);
            let timeout = reader.duration_in(&key("ack-timeout"), table.ack_timeout, default, least, most)?;
            Feedback::Acknowledged { timeout, ack_octets: ack_octets as u32 }
        }
    };
    Ok(LinkLayer { feedback, retransmission_attempts })
}

/// How much longer than an acknowledgment's way a sender waits by default, as the trace in appendix
/// B.4 of the thesis shows.
const GUARD: Duration = Duration::from_millis(1);

/// From the end of a frame's transmission to the end of its acknowledgment's arrival; `None` where
/// no rate is fixed.
fn acknowledgment_way(
    (forward, backward): (&Direction, &Direction),
    ack_octets: u64,
    delay: Duration,
    clock: Duration,
) -> Option<Duration> {
    let rate = |direction: &Direction| match direction.capacity {
        Capacity::Fixed(rate) => Some(rate),
        Capacity::Trace(_) => None,
    };
    let slowest: Bitrate = rate(forward)?.min(rate(backward)?);
    let transmission = cut_to_ticks(slowest.transmission_time(ack_octets), clock);
    Some(delay * 2 + transmission)
}
