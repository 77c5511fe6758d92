//! The links of a scenario.

mod delay;
mod direction;
mod distribution;
mod layer;
pub(in crate::file) mod queue;
mod table;

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_config::FileError;
use lasthop_sim::selection::Traffic;
use lasthop_sim::{ChannelConfig, Cut, Direction, LinkLayer, Selection, WiredConfig, WirelessConfig};

use super::channel;
use super::quantity::{LinkRate, Mac, Text};
use super::reader::Reader;
use crate::model::{Link, LinkModel, WlanModel};
use table::{DirectionTable, Medium};

pub(super) use table::LinkTable;

/// The maximum number of links, including those of cells.
pub(super) const MAX_LINKS: usize = 5_000;

pub(super) fn read(reader: &Reader<'_>, name: &str, table: LinkTable) -> Result<LinkModel, FileError> {
    let ends = ends(reader, name, &table)?;
    if table.kind == Medium::Wired {
        refuse_on_a_wired_link(reader, name, &table)?;
    }
    let forward = direction::read(reader, name, &table, "forward", &table.forward)?;
    let backward = direction::read(reader, name, &table, "backward", &table.backward)?;
    let clock = clock(reader, name, &table, [&forward, &backward])?;
    let name_of_link = name.to_owned();
    let selection = Selection {
        only: table.only.as_ref().map_or_else(Traffic::all, |Text(only)| only.clone()),
        except: table.except.as_ref().map_or_else(Traffic::none, |Text(except)| except.clone()),
    };
    let link = match table.kind {
        Medium::Wired => {
            Link::Wired(WiredConfig { name: name_of_link, forward, backward, clock, seed: None })
        }
        Medium::Wireless => {
            if let (Some(Text(Mac::Ideal)), None) = (table.mac, &table.cell) {
                return Err(reader.fail(
                    &["links", name, "mac"],
                    "a link outside a cell does not share its medium; requires cell = \"NAME\"",
                ));
            }
            let link_layer = match table.link_layer {
                Some(entry) => layer::read(reader, name, &entry, (&forward, &backward), clock)?,
                None => LinkLayer::UNRELIABLE,
            };
            let channel = match table.channel {
                Some(table) => channel::read(reader, &["links", name, "channel"], &table)?,
                None => ChannelConfig::PERFECT,
            };
            let config = WirelessConfig {
                name: name_of_link,
                forward,
                backward,
                clock,
                channel,
                link_layer,
                medium: None,
                seed: None,
            };
            Link::Wireless { config, cell: table.cell }
        }
    };
    let queue_keys = [("forward", &table.forward), ("backward", &table.backward)];
    let queue_keys = queue_keys.map(|(side, own)| match own.queue {
        Some(_) => reader.document.display(&["links", name, side, "queue"]),
        None => reader.document.display(&["links", name, "queue"]),
    });
    let cut = table.connections.map_or(Cut::None, |Text(cut)| cut);
    Ok(LinkModel { ends, link, selection, cut, queue_keys: Some(queue_keys) })
}

fn ends(reader: &Reader<'_>, name: &str, table: &LinkTable) -> Result<(usize, usize), FileError> {
    let key = ["links", name, "between"];
    let (first, _) = reader.node(&key, &table.between[0])?;
    let (second, _) = reader.node(&key, &table.between[1])?;
    if first == second {
        let problem = format!("a link from {:?} to itself; expected two nodes", table.between[0]);
        return Err(reader.fail(&key, problem));
    }
    Ok((first, second))
}

fn refuse_on_a_wired_link(reader: &Reader<'_>, name: &str, table: &LinkTable) -> Result<(), FileError> {
    let wireless_only = [
        ("channel", table.channel.is_some()),
        ("link-layer", table.link_layer.is_some()),
        ("cell", table.cell.is_some()),
        ("mac", table.mac.is_some()),
        ("trace", table.trace.is_some()),
        ("rate", matches!(table.rate, Some(Text(LinkRate::Trace)))),
    ];
    let of_a_direction = |direction: &DirectionTable| {
        [
            ("trace", direction.trace.is_some()),
            ("rate", matches!(direction.rate, Some(Text(LinkRate::Trace)))),
        ]
    };
    let problem = "the link is wired; allowed only with kind = \"wireless\"";
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

fn clock(
    reader: &Reader<'_>,
    name: &str,
    table: &LinkTable,
    directions: [&Direction; 2],
) -> Result<Duration, FileError> {
    let key = ["links", name, "clock"];
    let (least, most) = (Duration::from_millis(1), Duration::from_secs(1));
    let clock = reader.duration_in(&key, table.clock, Duration::ZERO, least, most)?;
    let has_delay = |direction: &&Direction| !direction.delay.distribution.mean().is_zero();
    if !clock.is_zero() && !directions.iter().all(has_delay) {
        // With transmission times rounded down to zero and without delay, packets could loop
        // forever while no time passes.
        return Err(reader.fail(&key, "a link with a clock requires a delay above zero"));
    }
    Ok(clock)
}

/// Refuses a second link between the same nodes, because it would never carry a packet.
pub(super) fn refuse_parallel(
    reader: &Reader<'_>,
    links: &[LinkModel],
    wlans: &[WlanModel],
) -> Result<(), FileError> {
    let mut joined = BTreeMap::new();
    for link in links {
        let (first, second) = link.ends;
        if let Some(other) = joined.insert((first.min(second), first.max(second)), link.name()) {
            let problem = format!(
                "link {other:?} already joins these two nodes; routes count hops and would never use a second link"
            );
            return Err(match link.link {
                Link::Radio { wlan, .. } => reader.fail(&["wlans", &wlans[wlan].name, "stations"], problem),
                _ => reader.fail(&["links", link.name(), "between"], problem),
            });
        }
    }
    Ok(())
}

/// Checks that a trace on the command line can be read, and that a link follows one.
pub(super) fn check_trace_given(
    reader: &Reader<'_>,
    links: &BTreeMap<String, LinkTable>,
) -> Result<(), FileError> {
    let Some(trace) = &reader.overrides.trace else { return Ok(()) };
    let follows = |link: &LinkTable| link.kind == Medium::Wireless && direction::follows_a_trace(link);
    if links.values().any(follows) {
        return reader
            .named_files
            .trace(trace)
            .map(drop)
            .map_err(|problem| FileError::in_file("--trace", problem));
    }
    Err(reader.fail(&["links"], "--trace was given, but no link has rate = \"trace\""))
}
