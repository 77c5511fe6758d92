//! Routing between the stations of a cell.

use std::time::Duration;

use crate::file::named::Named;
use crate::file::quantity::{Text, Whole};
use crate::file::reader::Reader;
use lasthop_aodv::{AodvConfig, Metric};
use lasthop_config::FileError;
use schemars::JsonSchema;
use serde::Deserialize;

/// How stations are reached, and AODV's parameters (RFC 3561, section 10).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RoutingTable {
    /// The routing protocol.
    protocol: RoutingName,
    /// `ACTIVE_ROUTE_TIMEOUT`: how long a route is valid after its last use, "1 ms" to "1 h";
    /// default "3 s".
    active_route_timeout: Option<Text<Duration>>,
    /// `MY_ROUTE_TIMEOUT`: the lifetime in RREPs of the destination itself; default twice
    /// `active-route-timeout`.
    my_route_timeout: Option<Text<Duration>>,
    /// `DELETE_PERIOD`: how long an invalid route is remembered; default five times the larger of
    /// `active-route-timeout` and `hello-interval`.
    delete_period: Option<Text<Duration>>,
    /// `NODE_TRAVERSAL_TIME`: time from node to node, queues included, "1 us" to "10 s"; default
    /// "40 ms". `NET_TRAVERSAL_TIME`, `RING_TRAVERSAL_TIME`, `PATH_DISCOVERY_TIME` and
    /// `BLACKLIST_TIMEOUT` are derived from it.
    node_traversal_time: Option<Text<Duration>>,
    /// `NET_DIAMETER`: maximum number of hops, 1 to 255; default 35.
    net_diameter: Option<Whole<1, 255>>,
    /// `RREQ_RETRIES`: further attempts over the whole network, 0 to 20; default 2.
    rreq_retries: Option<Whole<0, 20>>,
    /// `RREQ_RATELIMIT`: maximum number of RREQs that a node originates per second, 1 to 1,000;
    /// default 10.
    rreq_ratelimit: Option<Whole<1, 1_000>>,
    /// `RERR_RATELIMIT`: maximum number of RERRs that a node sends per second, 0 to 1,000; default
    /// 10.
    rerr_ratelimit: Option<Whole<0, 1_000>>,
    /// `TTL_START`: how many hops the first RREQ of a search travels, 1 to 255; default 1.
    ttl_start: Option<Whole<1, 255>>,
    /// `TTL_INCREMENT`: how many hops more the next RREQ travels, 1 to 255; default 2.
    ttl_increment: Option<Whole<1, 255>>,
    /// `TTL_THRESHOLD`: above this, RREQs travel through the whole network, 0 to 255; default 7.
    ttl_threshold: Option<Whole<0, 255>>,
    /// `TIMEOUT_BUFFER`: additional hops to wait for in an expanding ring search, 0 to 255; default
    /// 2.
    timeout_buffer: Option<Whole<0, 255>>,
    /// Whether only the destination replies (the flag D); default false.
    destination_only: Option<bool>,
    /// Whether a node that replies on behalf of a destination also informs the destination (the
    /// flag G); default false.
    gratuitous_replies: Option<bool>,
    /// `HELLO_INTERVAL`, "1 ms" to "1 h": nodes on active routes send Hellos at this interval;
    /// default no Hellos.
    hello_interval: Option<Text<Duration>>,
    /// `ALLOWED_HELLO_LOSS`: intervals of silence after which a neighbor counts as lost, 1 to 100;
    /// default 2.
    allowed_hello_loss: Option<Whole<1, 100>>,
    /// Whether a frame that the link layer gave up means a broken link; default true. False needs
    /// `hello-interval`.
    link_layer_feedback: Option<bool>,
    /// Broadcasts that are triggered by a broadcast wait for a random time of at most this; at most
    /// "10 s", default "10 ms".
    broadcast_jitter: Option<Text<Duration>>,
    /// Which of several routes is used; default "hops".
    metric: Option<MetricName>,
    /// Packets that may wait for routes at a node, 1 to 100,000; default 64. At the limit the
    /// oldest packet is removed.
    buffer: Option<Whole<1, 100_000>>,
}

/// A routing protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RoutingName {
    /// Fewest hops, computed once from which stations hear each other.
    #[default]
    ShortestPath,
    /// Ad hoc On-Demand Distance Vector (RFC 3561).
    Aodv,
}

/// Which of several routes to a destination is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MetricName {
    /// The first that is found of the routes with the fewest hops.
    Hops,
    /// Of the routes with the fewest hops, the one with the largest bandwidth-delay product, as
    /// measured by data frames. Messages carry it in an extension of 11 octets.
    BandwidthDelay,
}

impl From<MetricName> for Metric {
    fn from(name: MetricName) -> Self {
        match name {
            MetricName::Hops => Self::Hops,
            MetricName::BandwidthDelay => Self::BandwidthDelay,
        }
    }
}

/// The parameters of AODV; `None` with shortest paths.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &RoutingTable,
    has_access_point: bool,
) -> Result<Option<AodvConfig>, FileError> {
    if table.protocol == RoutingName::ShortestPath {
        let written = reader.document.get(&["wlans", name, "routing"]).and_then(|it| it.get_ref().as_table());
        let parameter = written.and_then(|table| table.keys().find(|key| *key.get_ref() != "protocol"));
        if let Some(key) = parameter {
            let problem = "has no effect with shortest paths; leave it out, or set protocol = \"aodv\"";
            return Err(reader.fail(&["wlans", name, "routing", key.get_ref()], problem));
        }
        return Ok(None);
    }
    if has_access_point {
        let problem = "stations reach each other through the access point; expected a cell without one";
        return Err(reader.fail(&["wlans", name, "routing"], problem));
    }
    let default = AodvConfig::default();
    let (millisecond, hour) = (Duration::from_millis(1), Duration::from_secs(3600));
    let time = |key: &str, value, default, least, most| {
        reader.duration_in(&["wlans", name, "routing", key], value, default, least, most)
    };
    let optional = |key: &str, value: Option<_>, least, most| match value {
        Some(_) => time(key, value, least, least, most).map(Some),
        None => Ok(None),
    };
    let config = AodvConfig {
        active_route_timeout: time(
            "active-route-timeout",
            table.active_route_timeout,
            default.active_route_timeout,
            millisecond,
            hour,
        )?,
        my_route_timeout: optional("my-route-timeout", table.my_route_timeout, millisecond, hour)?,
        delete_period: optional("delete-period", table.delete_period, millisecond, hour)?,
        node_traversal_time: time(
            "node-traversal-time",
            table.node_traversal_time,
            default.node_traversal_time,
            Duration::from_micros(1),
            Duration::from_secs(10),
        )?,
        net_diameter: table.net_diameter.map_or(default.net_diameter, |Whole(number)| number as u8),
        rreq_retries: table.rreq_retries.map_or(default.rreq_retries, |Whole(number)| number),
        rreq_rate_limit: table.rreq_ratelimit.map_or(default.rreq_rate_limit, |Whole(number)| number),
        rerr_rate_limit: table.rerr_ratelimit.map_or(default.rerr_rate_limit, |Whole(number)| number),
        ttl_start: table.ttl_start.map_or(default.ttl_start, |Whole(number)| number as u8),
        ttl_increment: table.ttl_increment.map_or(default.ttl_increment, |Whole(number)| number as u8),
        ttl_threshold: table.ttl_threshold.map_or(default.ttl_threshold, |Whole(number)| number as u8),
        timeout_buffer: table.timeout_buffer.map_or(default.timeout_buffer, |Whole(number)| number as u8),
        destination_only: table.destination_only.unwrap_or(default.destination_only),
        gratuitous_replies: table.gratuitous_replies.unwrap_or(default.gratuitous_replies),
        hello_interval: optional("hello-interval", table.hello_interval, millisecond, hour)?,
        allowed_hello_loss: table
            .allowed_hello_loss
            .map_or(default.allowed_hello_loss, |Whole(number)| number),
        link_layer_feedback: table.link_layer_feedback.unwrap_or(default.link_layer_feedback),
        broadcast_jitter: time(
            "broadcast-jitter",
            table.broadcast_jitter,
            default.broadcast_jitter,
            Duration::ZERO,
            Duration::from_secs(10),
        )?,
        metric: table.metric.map_or(default.metric, Into::into),
        buffer: table.buffer.map_or(default.buffer, |Whole(packets)| packets as usize),
    };
    if !config.link_layer_feedback && config.hello_interval.is_none() {
        let problem = "a broken link would never be detected; requires `hello-interval`";
        return Err(reader.fail(&["wlans", name, "routing", "link-layer-feedback"], problem));
    }
    Ok(Some(config))
}

impl Named for RoutingTable {
    type Name = RoutingName;
    const SCHEMA: &'static str = "Routing";
    const EXPECTED: &'static str = "\"shortest-path\", \"aodv\", or a table with one of them as \"protocol\"";

    fn named(protocol: RoutingName) -> Self {
        Self { protocol, ..Self::default() }
    }
}
