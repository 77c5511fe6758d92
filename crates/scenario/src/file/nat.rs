//! Routers that translate addresses, and the settings of translators.

use std::time::Duration;

use lasthop_config::FileError;
use lasthop_sim::NodeKind;
use lasthop_sim::nat::{Filtering, NatConfig};
use schemars::JsonSchema;
use serde::Deserialize;

use super::pair;
use super::quantity::{Text, Whole};
use super::reader::{Key, Reader};
use crate::model::{LinkModel, NodeModel, WlanModel};

/// The most mappings or sessions of a translator.
type Limit = Whole<1, 1_000_000>;

/// A router that translates addresses and ports (NAPT), by RFC 4787, 5382 and 5508. Its outside address is its own.
/// Mapping is endpoint-independent.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NatTable {
    /// The neighbors that are outside, by their names: packets that leave to them get the router's address. All other
    /// neighbors are inside. Access points have no such key: their clients are inside.
    pub(super) outside: Option<Vec<String>>,
    /// The first and the last outside port; default `[1024, 65535]`.
    #[serde(default, deserialize_with = "pair::optional")]
    ports: Option<[Whole<1, 65_535>; 2]>,
    /// Whether an inside port is kept outside where it is free; default true. Otherwise ports are drawn at random.
    port_preservation: Option<bool>,
    /// Whether a UDP port that is not kept has the same parity outside (RFC 4787, REQ-4); default true.
    port_parity: Option<bool>,
    /// Which packets from outside get in, besides those of connections that began inside; default
    /// "address-dependent". Static forwardings let all in.
    filtering: Option<FilteringName>,
    /// Whether a TCP segment without SYN opens a session, for a connection that began elsewhere; default false. True is
    /// the default of Linux (`nf_conntrack_tcp_loose`).
    tcp_loose: Option<bool>,
    /// Whether datagrams from outside refresh a session (RFC 4787, REQ-6); default true.
    inbound_refresh: Option<bool>,
    /// How long a session over UDP lasts when idle, while only one end has sent; "1 s" to "240 h", as for all time-outs;
    /// default "2 min".
    udp_timeout: Option<Text<Duration>>,
    /// The same, when both ends have sent; default "5 min".
    udp_stream_timeout: Option<Text<Duration>>,
    /// How long an established TCP connection lasts when idle; default "124 min".
    tcp_established_timeout: Option<Text<Duration>>,
    /// How long one lasts that opens, closes, or was reset; default "4 min".
    tcp_transitory_timeout: Option<Text<Duration>>,
    /// How long a session of ICMP queries lasts; default "1 min".
    icmp_timeout: Option<Text<Duration>>,
    /// The most mappings, 1 to 1,000,000, as for all limits; default 32,768.
    max_mappings: Option<Limit>,
    /// The most mappings of an inside host, which for an outer translator is a translator with all its hosts; default
    /// 4,096.
    max_mappings_per_host: Option<Limit>,
    /// The most sessions; default 65,536.
    max_sessions: Option<Limit>,
    /// The most sessions of an inside host; default 8,192.
    max_sessions_per_host: Option<Limit>,
}

/// Which packets from outside get in (RFC 4787, section 5).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum FilteringName {
    /// All that are for the outside port of an inside host.
    EndpointIndependent,
    /// Those from addresses to which the inside host has sent from that port.
    AddressDependent,
    /// Those from addresses and ports to which it has sent.
    AddressAndPortDependent,
}

/// The settings of a translator; it has no outside address yet.
pub(super) fn settings(reader: &Reader<'_>, key: &Key<'_>, table: &NatTable) -> Result<NatConfig, FileError> {
    let default = NatConfig::new(Vec::new());
    let under = |name: &'static str| -> Vec<&str> { key.iter().copied().chain([name]).collect() };
    let ports = match table.ports {
        Some([Whole(first), Whole(last)]) if first > last => {
            let problem = format!("{first} is above {last}; expected the first and the last port");
            return Err(reader.fail(&under("ports"), problem));
        }
        // `Whole` has checked that they fit.
        Some([Whole(first), Whole(last)]) => first as u16..=last as u16,
        None => default.ports,
    };
    let timeout = |name, value, default| {
        let (least, most) = (Duration::from_secs(1), Duration::from_secs(240 * 3_600));
        reader.duration_in(&under(name), value, default, least, most)
    };
    let (mut timeouts, mut limits) = (default.timeouts, default.limits);
    timeouts.udp = timeout("udp-timeout", table.udp_timeout, timeouts.udp)?;
    timeouts.udp_both = timeout("udp-stream-timeout", table.udp_stream_timeout, timeouts.udp_both)?;
    timeouts.tcp_established =
        timeout("tcp-established-timeout", table.tcp_established_timeout, timeouts.tcp_established)?;
    timeouts.tcp_transitory =
        timeout("tcp-transitory-timeout", table.tcp_transitory_timeout, timeouts.tcp_transitory)?;
    timeouts.icmp = timeout("icmp-timeout", table.icmp_timeout, timeouts.icmp)?;
    for (limit, written) in [
        (&mut limits.mappings, table.max_mappings),
        (&mut limits.mappings_per_host, table.max_mappings_per_host),
        (&mut limits.sessions, table.max_sessions),
        (&mut limits.sessions_per_host, table.max_sessions_per_host),
    ] {
        *limit = written.map_or(*limit, |Whole(written)| written);
    }
    let filtering = table.filtering.map_or(default.filtering, |filtering| match filtering {
        FilteringName::EndpointIndependent => Filtering::Open,
        FilteringName::AddressDependent => Filtering::Address,
        FilteringName::AddressAndPortDependent => Filtering::AddressAndPort,
    });
    Ok(NatConfig {
        outside: default.outside,
        ports,
        filtering,
        keeps_ports: table.port_preservation.unwrap_or(default.keeps_ports),
        keeps_parity: table.port_parity.unwrap_or(default.keeps_parity),
        picks_up: table.tcp_loose.unwrap_or(default.picks_up),
        inbound_refresh: table.inbound_refresh.unwrap_or(default.inbound_refresh),
        timeouts,
        limits,
    })
}

/// Finds the neighbors outside of the nodes that translate.
pub(super) fn read(
    reader: &Reader<'_>,
    written: Vec<(String, NatTable)>,
    nodes: &mut [NodeModel],
    (links, wlans): (&[LinkModel], &[WlanModel]),
) -> Result<(), FileError> {
    refuse_shared(reader, nodes, wlans)?;
    for (name, table) in written {
        let key = ["nodes", &name, "nat"];
        let (node, kind) = reader.node(&key, &name)?;
        if kind != NodeKind::Router {
            return Err(reader.fail(&key, "only a router translates addresses; expected kind = \"router\""));
        }
        if nodes.iter().any(|node| node.kind == NodeKind::External) {
            let problem = "translation works between simulated nodes only; expected no external nodes";
            return Err(reader.fail(&key, problem));
        }
        if let Some(cell) = wlans.iter().find(|cell| cell.access_points().any(|it| it == node)) {
            let problem = format!(
                "{name:?} is an access point among which clients roam; expected `nat` in wlans.{}.roaming",
                cell.name
            );
            return Err(reader.fail(&key, problem));
        }
        let neighbors = neighbors(node, links);
        let missing = || reader.fail(&key, "missing key `outside`; expected the neighbors that are outside");
        let names = table.outside.as_ref().filter(|names| !names.is_empty()).ok_or_else(missing)?;
        let mut outside = Vec::new();
        for (index, neighbor) in names.iter().enumerate() {
            let key = ["nodes", &name, "nat", "outside", &index.to_string()];
            let (found, _) = reader.node(&key, neighbor)?;
            if !neighbors.contains(&found) {
                let problem = format!(
                    "{neighbor:?} is not a neighbor of {name:?}; expected a node at the other end of one of its links"
                );
                return Err(reader.fail(&key, problem));
            }
            outside.push(found);
        }
        if neighbors.iter().all(|neighbor| outside.contains(neighbor)) {
            let problem = format!("all neighbors of {name:?} are outside; expected one inside or more");
            return Err(reader.fail(&["nodes", &name, "nat", "outside"], problem));
        }
        if let Some(nat) = &mut nodes[node].nat {
            nat.outside = outside;
        }
    }
    Ok(())
}

/// Refuses access points that translate and belong to several cells: for which of these would be a matter of order.
fn refuse_shared(reader: &Reader<'_>, nodes: &[NodeModel], wlans: &[WlanModel]) -> Result<(), FileError> {
    for cell in wlans.iter().filter(|cell| cell.roaming.as_ref().is_some_and(|it| it.nat.is_some())) {
        for other in wlans.iter().filter(|other| other.name != cell.name) {
            let Some(shared) = cell.access_points().find(|node| other.access_points().any(|it| it == *node))
            else {
                continue;
            };
            let problem = format!(
                "{:?} is an access point of {:?}, too; expected access points of one cell, or \"none\"",
                nodes[shared].name, other.name
            );
            return Err(reader.fail(&["wlans", &cell.name, "roaming", "nat"], problem));
        }
    }
    Ok(())
}

fn neighbors(node: usize, links: &[LinkModel]) -> Vec<usize> {
    let other_end = |link: &LinkModel| match link.ends {
        (first, second) if first == node => Some(second),
        (first, second) if second == node => Some(first),
        _ => None,
    };
    links.iter().filter_map(other_end).collect()
}
