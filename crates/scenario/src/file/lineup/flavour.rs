//! A row of a comparison may have a TCP of its own: its settings go over those of each flow.

use crate::file::error::ScenarioError;
use crate::file::reader::Reader;
use crate::file::tcp::TcpTable;
use crate::file::traffic::{self, FlowTable};
use crate::file::transport::TransportName;
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
        let flow = flow.with_tcp(tcp);
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
