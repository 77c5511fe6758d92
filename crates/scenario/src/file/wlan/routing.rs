//! How stations of a cell are reached.

use std::time::Duration;

use lasthop_sim::aodv::AodvConfig;

use super::tables::{RoutingName, RoutingTable, WlanTable};
use crate::file::error::ScenarioError;
use crate::file::named::Named;
use crate::file::reader::Reader;

/// AODV's parameters, if it is AODV.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    cell: &WlanTable,
    table: &RoutingTable,
) -> Result<Option<AodvConfig>, ScenarioError> {
    if table.protocol == RoutingName::ShortestPath {
        let written = reader.document.get(&["wlans", name, "routing"]).and_then(|it| it.get_ref().as_table());
        let parameter = written.and_then(|table| table.keys().find(|key| *key.get_ref() != "protocol"));
        if let Some(key) = parameter {
            let problem = "it means nothing to shortest paths; leave it out, or expected protocol = \"aodv\"";
            return Err(reader.fail(&["wlans", name, "routing", key.get_ref()], problem));
        }
        return Ok(None);
    }
    if cell.access_point.is_some() {
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
    let number = |key: &str, value, default, range| {
        super::count(reader, &["wlans", name, "routing", key], value, default, range)
    };
    let small = |key: &str, value, default: u8, least| {
        number(key, value, default.into(), (least, 255)).map(|number| number as u8)
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
        net_diameter: small("net-diameter", table.net_diameter, default.net_diameter, 1)?,
        rreq_retries: number("rreq-retries", table.rreq_retries, default.rreq_retries, (0, 20))?,
        rreq_rate_limit: number("rreq-ratelimit", table.rreq_ratelimit, default.rreq_rate_limit, (1, 1_000))?,
        rerr_rate_limit: number("rerr-ratelimit", table.rerr_ratelimit, default.rerr_rate_limit, (0, 1_000))?,
        ttl_start: small("ttl-start", table.ttl_start, default.ttl_start, 1)?,
        ttl_increment: small("ttl-increment", table.ttl_increment, default.ttl_increment, 1)?,
        ttl_threshold: small("ttl-threshold", table.ttl_threshold, default.ttl_threshold, 0)?,
        timeout_buffer: small("timeout-buffer", table.timeout_buffer, default.timeout_buffer, 0)?,
        destination_only: table.destination_only.unwrap_or(default.destination_only),
        gratuitous_replies: table.gratuitous_replies.unwrap_or(default.gratuitous_replies),
        hello_interval: optional("hello-interval", table.hello_interval, millisecond, hour)?,
        allowed_hello_loss: number(
            "allowed-hello-loss",
            table.allowed_hello_loss,
            default.allowed_hello_loss,
            (1, 100),
        )?,
        link_layer_feedback: table.link_layer_feedback.unwrap_or(default.link_layer_feedback),
        broadcast_jitter: time(
            "broadcast-jitter",
            table.broadcast_jitter,
            default.broadcast_jitter,
            Duration::ZERO,
            Duration::from_secs(10),
        )?,
        buffer: number("buffer", table.buffer, default.buffer as u32, (1, 100_000))? as usize,
    };
    if !config.link_layer_feedback && config.hello_interval.is_none() {
        let problem = "nobody would ever notice that a link is broken; expected `hello-interval` beside it";
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
