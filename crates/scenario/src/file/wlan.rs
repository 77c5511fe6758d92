//! An IEEE 802.11 cell's table to its model and its links.

mod errors;
mod mobility;
mod propagation;
mod routing;
pub(super) mod tables;

use std::time::Duration;

use lasthop_sim::QueueLimit;
use lasthop_sim::wifi::{
    DataOverhead, MacConfig, PhyConfig, Position, Rate, Standard, StationConfig, WlanConfig,
};

use super::error::ScenarioError;
use super::quantity::{DataRate, Octets, Text};
use super::reader::Reader;
use crate::model::{Link, LinkModel, NodeModel, WlanModel, WlanStation};
use tables::WlanTable;

/// The largest datagram that a station takes, in octets: what is left of the 2,304 octets of an
/// MSDU is LLC's (IEEE 802.11-2012, 8.2.3, where Linux and others allow the datagram itself so
/// many).
pub(super) const MTU: u32 = 2_304;
/// More stations than this hear each other in more pairs than there may be links.
const MOST_STATIONS: usize = 2_000;

/// A cell, and the links between its stations.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    index: usize,
    table: &WlanTable,
    nodes: &[NodeModel],
) -> Result<(WlanModel, Vec<LinkModel>), ScenarioError> {
    let phy = phy(reader, name, table)?;
    let mac = mac(reader, name, table)?;
    let propagation = match &table.propagation {
        Some(entry) => propagation::read(reader, name, &entry.0)?,
        None => lasthop_sim::wifi::Propagation::Everywhere,
    };
    let capture = table.capture.as_ref();
    let capture = capture.map(|table| propagation::capture(reader, name, table, &propagation)).transpose()?;
    let errors = table.errors.as_ref();
    let errors = errors.map(|table| errors::read(reader, &["wlans", name, "errors"], table)).transpose()?;
    let config = WlanConfig {
        phy,
        mac,
        propagation,
        capture,
        errors: errors.unwrap_or_default(),
        ..WlanConfig::new(table.standard.standard())
    };
    let stations = stations(reader, name, table, nodes)?;
    let routing = table.routing.as_ref();
    let routing = routing.map(|entry| routing::read(reader, name, table, &entry.0)).transpose()?.flatten();
    let links = if routing.is_some() {
        pairs(reader, name, index, &stations, nodes)?
    } else {
        links(reader, name, index, table, &config, &stations, nodes)?
    };
    let errors = link_errors(reader, name, table, &stations, &links)?;
    let placement = table.placement.as_ref();
    let placement = placement
        .map(|placement| mobility::placement(reader, name, placement, (&stations, nodes), routing.is_some()))
        .transpose()?;
    let mobility = table.mobility.as_ref();
    let mobility = mobility
        .map(|mobility| {
            mobility::read(
                reader,
                name,
                mobility,
                &stations,
                routing.is_some() || table.access_point.is_some(),
            )
        })
        .transpose()?;
    let name = name.to_owned();
    Ok((WlanModel { name, config, stations, errors, routing, placement, mobility }, links))
}

/// A rate, if the physical layer has it.
fn rate(
    reader: &Reader<'_>,
    key: &[&str],
    table: &WlanTable,
    Text(DataRate(rate)): Text<DataRate>,
) -> Result<Rate, ScenarioError> {
    let standard = table.standard.standard();
    if rate.is_of(standard) {
        return Ok(rate);
    }
    let megabits = |rate: Rate| format!("{}", rate.kbps() as f64 / 1000.0);
    let mut known: Vec<Rate> = Rate::ALL.into_iter().filter(|rate| rate.is_of(standard)).collect();
    known.sort_by_key(|rate| rate.kbps());
    let known: Vec<String> = known.into_iter().map(megabits).collect();
    let problem = format!(
        "{} Mbit/s is no rate of {}; expected one of {} Mbit/s",
        megabits(rate),
        table.standard.as_written(),
        known.join(", ")
    );
    Err(reader.fail(key, problem))
}

fn phy(reader: &Reader<'_>, name: &str, table: &WlanTable) -> Result<PhyConfig, ScenarioError> {
    let standard = table.standard.standard();
    let mut phy = PhyConfig::new(standard);
    if let Some(preamble) = table.preamble {
        let preamble = preamble.preamble();
        let has_short = matches!(standard, Standard::HrDsss | Standard::Erp);
        if preamble == lasthop_sim::wifi::Preamble::Short {
            if !has_short {
                let problem = format!(
                    "{} has no short preamble; expected it with 802.11b or 802.11g",
                    table.standard.as_written()
                );
                return Err(reader.fail(&["wlans", name, "preamble"], problem));
            }
            phy = phy.with_short_preamble();
        }
    }
    if let Some(written) = table.rate {
        phy.rate = rate(reader, &["wlans", name, "rate"], table, written)?;
    }
    if let Some(written) = &table.basic_rates {
        if written.is_empty() {
            return Err(reader.fail(&["wlans", name, "basic-rates"], "no rate; expected one or more"));
        }
        let key = |index: usize| index.to_string();
        let rates = written.iter().enumerate();
        let rates =
            rates.map(|(index, it)| rate(reader, &["wlans", name, "basic-rates", &key(index)], table, *it));
        phy.basic_rates = rates.collect::<Result<_, _>>()?;
    }
    if let Some(written) = table.eifs_rate {
        phy.eifs_rate = rate(reader, &["wlans", name, "eifs-rate"], table, written)?;
    }
    let (least, most) = (Duration::from_micros(1), Duration::from_millis(1));
    phy.slot = reader.duration_in(&["wlans", name, "slot-time"], table.slot_time, phy.slot, least, most)?;
    let (key, delay) = (["wlans", name, "carrier-sense-delay"], table.carrier_sense_delay);
    phy.carrier_sense_delay = reader.duration_if_given(&key, delay, Duration::ZERO, phy.slot)?;
    phy.sifs = reader.duration_in(&["wlans", name, "sifs-time"], table.sifs_time, phy.sifs, least, most)?;
    phy.cw_min = count(reader, &["wlans", name, "cw-min"], table.cw_min, phy.cw_min, (1, 32_767))?;
    let most = phy.cw_max.max(phy.cw_min);
    phy.cw_max = count(reader, &["wlans", name, "cw-max"], table.cw_max, most, (phy.cw_min, 32_767))?;
    Ok(phy)
}

fn mac(reader: &Reader<'_>, name: &str, table: &WlanTable) -> Result<MacConfig, ScenarioError> {
    let default = MacConfig::default();
    let limit = |key: &str, value, default| count(reader, &["wlans", name, key], value, default, (1, 255));
    let cts_to_self = table.cts_to_self.unwrap_or(false);
    if cts_to_self && table.standard.standard() != Standard::Erp {
        let problem = "there is nobody to protect; expected it with 802.11g only";
        return Err(reader.fail(&["wlans", name, "cts-to-self"], problem));
    }
    let (least, most) = (Duration::from_micros(1), Duration::from_millis(10));
    let key = ["wlans", name, "ack-timeout"];
    let response_timeout = reader.duration_if_given(&key, table.ack_timeout, least, most)?;
    let threshold = table.rts_threshold.map_or(u64::from(default.rts_threshold), |Text(Octets(it))| it);
    let key = ["wlans", name, "llc-header"];
    let llc = table.llc_header.map(|Text(Octets(it))| u32::try_from(it).unwrap_or(u32::MAX));
    let llc = count(reader, &key, llc, default.overhead.llc, (0, DataOverhead::STANDARD.llc))?;
    Ok(MacConfig {
        rts_threshold: u32::try_from(threshold).unwrap_or(u32::MAX),
        short_retry_limit: limit("short-retry-limit", table.short_retry_limit, default.short_retry_limit)?,
        long_retry_limit: limit("long-retry-limit", table.long_retry_limit, default.long_retry_limit)?,
        overhead: DataOverhead { llc, ..default.overhead },
        cts_to_self,
        eifs: table.eifs.unwrap_or(default.eifs),
        response_timeout,
        nav_reset: table.nav_reset.unwrap_or(default.nav_reset),
    })
}

fn count(
    reader: &Reader<'_>,
    key: &[&str],
    value: Option<u32>,
    default: u32,
    (least, most): (u32, u32),
) -> Result<u32, ScenarioError> {
    let value = value.unwrap_or(default);
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(reader.fail(key, format!("{value} is out of range; expected {least} to {most}")))
}

fn stations(
    reader: &Reader<'_>,
    name: &str,
    table: &WlanTable,
    nodes: &[NodeModel],
) -> Result<Vec<WlanStation>, ScenarioError> {
    let least = if table.access_point.is_some() { 1 } else { 2 };
    if !(least..=MOST_STATIONS).contains(&table.stations.len()) {
        let problem = format!(
            "{} of them; expected {least} to {MOST_STATIONS}{}",
            table.stations.len(),
            if least == 2 { " without an access point" } else { "" }
        );
        return Err(reader.fail(&["wlans", name, "stations"], problem));
    }
    if let Some(unknown) = table
        .except
        .keys()
        .find(|station| !table.stations.contains(station) && table.access_point.as_ref() != Some(station))
    {
        let problem = "it is not among the cell's stations; expected the name of one";
        return Err(reader.fail(&["wlans", name, "except", unknown], problem));
    }
    let places = table.stations.iter().enumerate().map(|(index, station)| (index.to_string(), station));
    let mut stations: Vec<WlanStation> = Vec::new();
    let access_point = table.access_point.iter().map(|node| (None, node));
    for (index, node) in access_point.chain(places.map(|(index, node)| (Some(index), node))) {
        let key: Vec<&str> = match &index {
            Some(index) => vec!["wlans", name, "stations", index],
            None => vec!["wlans", name, "access-point"],
        };
        let (found, _) = reader.node(&key, node)?;
        if stations.iter().any(|other| other.node == found) {
            return Err(reader.fail(&key, format!("{node:?} twice; expected each node once")));
        }
        let own = table.except.get(node);
        let default = StationConfig::default();
        let written = own.and_then(|own| own.queue).or(table.queue);
        let queue = written.map_or(default.queue, |Text(queue)| queue);
        if !matches!(queue, QueueLimit::Packets(1..) | QueueLimit::Unlimited | QueueLimit::Octets(_)) {
            return Err(reader.fail(&["wlans", name, "queue"], "expected room for a packet or more"));
        }
        let key = ["wlans", name, "except", node, "rate"];
        let rate =
            own.and_then(|own| own.rate).map(|written| rate(reader, &key, table, written)).transpose()?;
        let config = StationConfig { position: nodes[found].position, rate, queue };
        stations.push(WlanStation { node: found, config });
    }
    Ok(stations)
}

/// Between the access point and each station, or between all that hear each other.
fn links(
    reader: &Reader<'_>,
    name: &str,
    wlan: usize,
    table: &WlanTable,
    config: &WlanConfig,
    stations: &[WlanStation],
    nodes: &[NodeModel],
) -> Result<Vec<LinkModel>, ScenarioError> {
    let place = |station: &WlanStation| station.config.position;
    let name_of = |station: &WlanStation| nodes[station.node].name.as_str();
    let hear = |one: Position, other: Position| config.propagation.reaches(one, other);
    let link = |first: &WlanStation, second: &WlanStation, name: String| LinkModel {
        ends: (first.node, second.node),
        link: Link::Radio { name, wlan },
    };
    let mut links = Vec::new();
    if let (Some(_), [access_point, others @ ..]) = (&table.access_point, stations) {
        for (index, station) in others.iter().enumerate() {
            if !hear(place(access_point), place(station)) {
                let problem = format!(
                    "station {:?} is {:.0} m from the access point, out of its range; expected it nearer, or a longer range",
                    name_of(station),
                    place(access_point).distance(place(station))
                );
                return Err(reader.fail(&["wlans", name, "stations", &index.to_string()], problem));
            }
            links.push(link(access_point, station, format!("{name}.{}", name_of(station))));
        }
        return Ok(links);
    }
    for (index, station) in stations.iter().enumerate() {
        let mut is_heard = false;
        for (other_index, other) in stations.iter().enumerate() {
            if other_index == index || !hear(place(station), place(other)) {
                continue;
            }
            is_heard = true;
            if other_index > index {
                links.push(link(station, other, format!("{name}.{}.{}", name_of(station), name_of(other))));
            }
        }
        if !is_heard {
            let problem = format!("station {:?} is out of everybody's range", name_of(station));
            return Err(reader.fail(&["wlans", name, "stations", &index.to_string()], problem));
        }
        if links.len() > super::reader::MOST_LINKS {
            let problem = format!(
                "more than {} pairs hear each other; expected fewer stations, or an access point",
                super::reader::MOST_LINKS
            );
            return Err(reader.fail(&["wlans", name, "stations"], problem));
        }
    }
    Ok(links)
}

/// Between any two: who hears whom is for the air to tell, and changes.
fn pairs(
    reader: &Reader<'_>,
    name: &str,
    wlan: usize,
    stations: &[WlanStation],
    nodes: &[NodeModel],
) -> Result<Vec<LinkModel>, ScenarioError> {
    let most = super::reader::MOST_LINKS;
    if stations.len() * (stations.len() - 1) / 2 > most {
        let problem = format!("more than {most} pairs of stations that might meet; expected fewer stations");
        return Err(reader.fail(&["wlans", name, "stations"], problem));
    }
    let mut links = Vec::new();
    for (index, first) in stations.iter().enumerate() {
        for second in &stations[index + 1..] {
            let name = format!("{name}.{}.{}", nodes[first.node].name, nodes[second.node].name);
            links.push(LinkModel { ends: (first.node, second.node), link: Link::Radio { name, wlan } });
        }
    }
    Ok(links)
}

type DirectionErrors = (usize, usize, lasthop_sim::wifi::ErrorConfig);

fn link_errors(
    reader: &Reader<'_>,
    name: &str,
    table: &WlanTable,
    stations: &[WlanStation],
    links: &[LinkModel],
) -> Result<Vec<DirectionErrors>, ScenarioError> {
    let mut directions: Vec<DirectionErrors> = Vec::new();
    for (own_name, own) in &table.link_errors {
        let key = |key| ["wlans", name, "link-errors", own_name, key];
        let from = station(reader, &key("from"), &own.from, stations)?;
        let to = station(reader, &key("to"), &own.to, stations)?;
        let (first, second) = (stations[from].node, stations[to].node);
        if !links.iter().any(|link| link.ends == (first, second) || link.ends == (second, first)) {
            let problem = format!("{:?} and {:?} do not talk to each other directly", own.from, own.to);
            return Err(reader.fail(&key("to"), problem));
        }
        if directions.iter().any(|other| (other.0, other.1) == (from, to)) {
            return Err(reader.fail(&key("to"), "errors for this direction twice; expected each once"));
        }
        directions.push((from, to, errors::read(reader, &key("errors"), &own.errors)?));
    }
    Ok(directions)
}

/// The index of a station that somebody names.
fn station(
    reader: &Reader<'_>,
    key: &[&str],
    node: &str,
    stations: &[WlanStation],
) -> Result<usize, ScenarioError> {
    let (node, _) = reader.node(key, node)?;
    let found = stations.iter().position(|station| station.node == node);
    found.ok_or_else(|| reader.fail(key, "it is no station of this cell; expected one"))
}
