//! Access points of one network, and clients that roam between them.

use std::collections::BTreeSet;
use std::time::Duration;

use lasthop_config::FileError;
use lasthop_sim::NodeKind;
use lasthop_sim::ServiceSetConfig;
use lasthop_sim::ess::client::{Margin, Steering};
use lasthop_sim::ess::{Channel, ClientConfig, Dbm, FrameSizes, ScanConfig, ScanMethod, Security};
use schemars::JsonSchema;
use serde::Deserialize;

use super::controller::{self, ControllerTable};
use super::nat::{self, RoamingNatTable};
use crate::file::named::NameOrTable;
use crate::file::quantity::{Text, Whole};
use crate::file::reader::Reader;
use crate::model::{Link, LinkModel, NodeModel, Roaming, WlanModel, WlanStation};

/// The channels that an access point may have.
type ChannelNumber = Whole<0, 255>;

/// Access points of one network (an extended service set), and clients, which choose one of them: the cell's
/// `stations`. The access points reach each other over wired links. Every station is also a node, with a
/// `position`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RoamingTable {
    /// The nodes that are access points, at least one.
    pub(super) access_points: Vec<String>,
    /// Channels, which are given to the access points in turn: 0 to 255. Channels with different numbers do not disturb
    /// each other. Default, without `floor-plan`: one channel.
    channels: Option<Vec<ChannelNumber>>,
    /// A CSV file with the columns name, x, y and channel: the position in metres and the channel of each access point,
    /// instead of `position` and `channels`.
    floor_plan: Option<String>,
    /// The handshakes after an association; default "open", none.
    security: Option<SecurityName>,
    /// How clients look for access points: "active", the default, with probe requests; or "passive", by beacons alone.
    scan: Option<ScanName>,
    /// The time between two beacons of an access point, "10 ms" to "1 s"; default "102.4 ms".
    beacon_interval: Option<Text<Duration>>,
    /// How long a client's radio takes to change its channel, at most "100 ms"; default "3 ms".
    switch_time: Option<Text<Duration>>,
    /// Clients begin their first scans at random times in this time from the start on, at most "1 h"; default "100 ms".
    first_scan: Option<Text<Duration>>,
    /// Below this signal of its access point in dBm, -100 to -30, a client scans each `short-scan-interval`, otherwise each
    /// `long-scan-interval`; default -70.
    scan_threshold: Option<i16>,
    /// See `scan-threshold`, "100 ms" to "1 h"; default "30 s".
    short_scan_interval: Option<Text<Duration>>,
    /// See `scan-threshold`, "100 ms" to "24 h"; default "300 s".
    long_scan_interval: Option<Text<Duration>>,
    /// How much stronger in dB another access point must be, 0 to 30. Default: 1 dB where the signal is weak to 5 dB where
    /// it is strong, as in `wpa_supplicant`.
    margin: Option<Whole<0, 30>>,
    /// What a client does when its access point asks it to go to another one; default "follow".
    steering: Option<SteeringName>,
    /// A controller of the access points, which asks clients to go to less loaded ones; default none.
    controller: Option<ControllerTable>,
    /// Whether agents of access points hand the state of a client's connections over to the agent where the client is;
    /// default true. Otherwise each agent keeps what it has. `nat = "two-level"` needs it.
    hand_off: Option<bool>,
    /// The node that knows at which access point each client is, for `hand-off`; default the first access point.
    registry: Option<String>,
    /// Whether access points translate the addresses of their clients, and what becomes of a client's translations when it
    /// roams; default "none". A table sets more.
    nat: Option<NameOrTable<RoamingNatTable>>,
}

/// The handshakes after an association.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum SecurityName {
    /// None.
    Open,
    /// The four-way handshake after each association.
    FourWayHandshake,
    /// The four-way handshake after a client's first association; a reassociation carries the keys.
    FastTransition,
}

/// How clients look for access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ScanName {
    /// With probe requests.
    Active,
    /// By beacons.
    Passive,
}

/// What a client does when it is asked to go to another access point.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum SteeringName {
    /// It goes.
    Follow,
    /// It goes to one that it would choose itself.
    IfStronger,
    /// It stays.
    Refuse,
}

/// The roaming of a cell whose access points, which come first in `stations`, are to be tuned and placed, and whose
/// clients are to be taken off the air.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &RoamingTable,
    (stations, nodes): (&mut [WlanStation], &[NodeModel]),
) -> Result<Roaming, FileError> {
    let (access_points, clients) = stations.split_at_mut(table.access_points.len());
    for (index, access_point) in access_points.iter().enumerate() {
        if nodes[access_point.node].kind != NodeKind::Router {
            let key = ["wlans", name, "roaming", "access-points", &index.to_string()];
            return Err(reader.fail(&key, "not a router; expected one, which forwards packets to clients"));
        }
    }
    for client in clients {
        client.config.channel = None;
    }
    let key = |key| ["wlans", name, "roaming", key];
    let ms = Duration::from_millis;
    let default = ServiceSetConfig::default();
    let security = match table.security {
        None | Some(SecurityName::Open) => Security::Open,
        Some(SecurityName::FourWayHandshake) => Security::FourWayHandshake,
        Some(SecurityName::FastTransition) => Security::FastTransition,
    };
    let interval = default.beacon_interval;
    let beacon_interval =
        reader.duration_in(&key("beacon-interval"), table.beacon_interval, interval, ms(10), ms(1_000))?;
    let switch_time = default.switch_time;
    let switch_time =
        reader.duration_in(&key("switch-time"), table.switch_time, switch_time, Duration::ZERO, ms(100))?;
    let (first_scan, zero) = (default.first_scan, Duration::ZERO);
    let first_scan =
        reader.duration_in(&key("first-scan"), table.first_scan, first_scan, zero, ms(3_600_000))?;
    plan(reader, name, table, (access_points, nodes))?;
    let channels = access_points.iter().filter_map(|access_point| access_point.config.channel);
    let channels: BTreeSet<u16> = channels.map(|channel| channel.0).collect();
    let mut client = ClientConfig::new(channels.into_iter().map(Channel).collect());
    if table.scan == Some(ScanName::Passive) {
        // Linux's mac80211 stays a ninth of a second; a beacon comes in this time.
        let dwell = beacon_interval.max(Duration::from_nanos(1_000_000_000 / 9));
        client.scan = ScanConfig { method: ScanMethod::Passive { dwell }, ..client.scan };
    }
    if let Some(threshold) = table.scan_threshold {
        if !(-100..=-30).contains(&threshold) {
            let problem = format!("{threshold} dBm is out of range; expected -100 to -30");
            return Err(reader.fail(&key("scan-threshold"), problem));
        }
        client.scan_threshold = Dbm(threshold);
    }
    let (short, long) = (client.short_interval, client.long_interval);
    let hour = Duration::from_secs(3_600);
    client.short_interval =
        reader.duration_in(&key("short-scan-interval"), table.short_scan_interval, short, ms(100), hour)?;
    client.long_interval =
        reader.duration_in(&key("long-scan-interval"), table.long_scan_interval, long, ms(100), 24 * hour)?;
    if let Some(Whole(margin)) = table.margin {
        client.margin = Margin::Fixed(i16::try_from(margin).unwrap_or(i16::MAX));
    }
    client.steering = match table.steering {
        None | Some(SteeringName::Follow) => Steering::Follow,
        Some(SteeringName::IfStronger) => Steering::IfStronger,
        Some(SteeringName::Refuse) => Steering::Refuse,
    };
    client.beacon_timeout = 7 * beacon_interval + ms(500);
    let hands_over = table.hand_off.unwrap_or(true);
    let registry = match &table.registry {
        Some(registry) => reader.node(&key("registry"), registry)?.0,
        None => access_points[0].node,
    };
    let steering = table.controller.as_ref();
    let steering = steering.map(|table| controller::read(reader, name, table)).transpose()?;
    Ok(Roaming {
        config: ServiceSetConfig {
            sizes: FrameSizes { security, ..default.sizes },
            beacon_interval,
            switch_time,
            first_scan,
        },
        access_points: access_points.len(),
        client,
        registry: hands_over.then_some(registry),
        nat: nat::read(reader, name, (table.nat.as_ref().map(|entry| &entry.0), hands_over), nodes)?,
        steering,
    })
}

/// Tunes the access points, and places them if there is a floor plan.
fn plan(
    reader: &Reader<'_>,
    name: &str,
    table: &RoamingTable,
    (access_points, nodes): (&mut [WlanStation], &[NodeModel]),
) -> Result<(), FileError> {
    let key = |key| ["wlans", name, "roaming", key];
    let Some(file) = &table.floor_plan else {
        let in_turn = table.channels.as_deref().unwrap_or(&[Whole(0)]);
        if in_turn.is_empty() {
            return Err(reader.fail(&key("channels"), "expected one channel or more"));
        }
        for (access_point, Whole(channel)) in access_points.iter_mut().zip(in_turn.iter().cycle()) {
            access_point.config.channel = Some(lasthop_wifi::Channel(*channel as u16));
        }
        return Ok(());
    };
    if table.channels.is_some() {
        return Err(
            reader.fail(&key("channels"), "the floor plan has the channels; leave one of the two out")
        );
    }
    let plan = reader.named_files.floor_plan(&reader.beside(file));
    let plan = plan.map_err(|problem| reader.fail(&key("floor-plan"), problem))?;
    for access_point in access_points {
        let node = &nodes[access_point.node].name;
        let Some(planned) = plan.get(node) else {
            let problem =
                format!("has no row for access point {node:?}; expected a row for each access point");
            return Err(reader.fail(&key("floor-plan"), problem));
        };
        access_point.config.channel = Some(lasthop_wifi::Channel(planned.channel));
        access_point.config.position = planned.position;
    }
    Ok(())
}

/// Refuses clients with other links, and access points and registries that no wires join.
pub(in crate::file) fn check_links(
    reader: &Reader<'_>,
    (nodes, links): (&[NodeModel], &[LinkModel]),
    wlans: &[WlanModel],
) -> Result<(), FileError> {
    for (index, cell) in wlans.iter().enumerate() {
        let Some(roaming) = &cell.roaming else { continue };
        for (number, client) in cell.stations[roaming.access_points..].iter().enumerate() {
            let is_its = |link: &&LinkModel| link.ends.0 == client.node || link.ends.1 == client.node;
            if let Some(other) = links.iter().filter(is_its).find(|link| !link.link.is_of_cell(index)) {
                let problem = format!(
                    "station {:?} also has the link {:?}; expected clients without other links",
                    nodes[client.node].name,
                    other.name()
                );
                return Err(reader.fail(&["wlans", &cell.name, "stations", &number.to_string()], problem));
            }
        }
        let joined = wired_to(cell.stations[0].node, links);
        let cut_off = |node: usize| {
            format!(
                "no wired links join {:?} and {:?}; expected links between them",
                nodes[node].name, nodes[cell.stations[0].node].name
            )
        };
        let key = |key| ["wlans", &cell.name, "roaming", key];
        let apart = cell.access_points().enumerate().find(|(_, node)| !joined.contains(node));
        if let Some((number, node)) = apart {
            let number = number.to_string();
            let [wlans, name, roaming, list] = key("access-points");
            return Err(reader.fail(&[wlans, name, roaming, list, &number], cut_off(node)));
        }
        if let Some(registry) = roaming.registry.filter(|registry| !joined.contains(registry)) {
            return Err(reader.fail(&key("registry"), cut_off(registry)));
        }
    }
    Ok(())
}

/// The nodes that wired links join with this one.
fn wired_to(node: usize, links: &[LinkModel]) -> BTreeSet<usize> {
    let (mut joined, mut frontier) = (BTreeSet::from([node]), vec![node]);
    while let Some(node) = frontier.pop() {
        for LinkModel { ends: (one, other), .. } in
            links.iter().filter(|it| matches!(it.link, Link::Wired(_)))
        {
            for (from, to) in [(*one, *other), (*other, *one)] {
                if from == node && joined.insert(to) {
                    frontier.push(to);
                }
            }
        }
    }
    joined
}
