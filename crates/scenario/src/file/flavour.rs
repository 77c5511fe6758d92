//! A row of a comparison may have a TCP of its own: its settings go over those of each flow.

use super::error::ScenarioError;
use super::reader::Reader;
use super::tables::{CongestionName, FlowTable, RecoveryName, TcpTable, TransportName};
use super::traffic;
use crate::model::{TcpModel, TransportModel};

/// TCP's settings of each flow, in the order of `flows`, with a row's settings over them; nothing
/// of a flow over UDP.
pub(super) fn read(
    reader: &Reader<'_>,
    index: &str,
    tcp: &TcpTable,
    flows: &[(String, FlowTable)],
    tcp_of_all: &TcpTable,
) -> Result<Vec<Option<TcpModel>>, ScenarioError> {
    let ends = flows.iter().map(|(name, flow)| {
        if flow.transport == Some(TransportName::Udp) {
            return Ok(None);
        }
        let own = flow.tcp.clone().unwrap_or_default();
        let flow = FlowTable { tcp: Some(tcp.over(&own)), ..flow.clone() };
        // The flow was read before and was right, so that what is wrong now is the row's.
        let model = traffic::read(reader, name, &flow, tcp_of_all).map_err(|error| {
            let setting = error.key.rsplit('.').next().unwrap_or_default();
            let place = ["schemes", index, "tcp", setting];
            let is_there = reader.document.get(&place).is_some();
            reader.fail(if is_there { &place } else { &place[..3] }, error.problem)
        })?;
        Ok(match model.transport {
            TransportModel::Tcp(tcp) => Some(tcp),
            TransportModel::Udp => None,
        })
    });
    ends.collect()
}

/// What a row is called for its settings: by the congestion control, or else by the recovery.
pub(super) fn name(tcp: &TcpTable) -> Option<&'static str> {
    let congestion = tcp.congestion.map(|name| match name {
        CongestionName::Reno => "reno",
        CongestionName::RenoAbc => "reno-abc",
        CongestionName::Vegas => "vegas",
        CongestionName::Westwood => "westwood",
        CongestionName::Cubic => "cubic",
    });
    let recovery = tcp.recovery.map(|name| match name {
        RecoveryName::Tahoe => "tahoe",
        RecoveryName::Reno => "reno",
        RecoveryName::NewReno => "newreno",
        RecoveryName::Sack => "sack",
    });
    congestion.or(recovery)
}
