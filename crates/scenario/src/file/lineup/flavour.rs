//! The TCP settings of a row of the comparison, which override those of each flow and session.
use crate::file::reader::Reader;
use crate::file::sessions;
use crate::file::tcp::TcpTable;
use crate::file::traffic::{self, FlowTable};
use crate::file::transport::TransportName;
use crate::model::{TcpModel, TransportModel};
use lasthop_config::FileError;

/// The flows and sessions whose settings a row overrides.
#[derive(Clone, Copy)]
pub(in crate::file) struct Traffic<'a> {
    pub(in crate::file) flows: &'a [(String, FlowTable)],
    pub(in crate::file) sessions: &'a [(String, sessions::Table)],
    pub(in crate::file) tcp_of_all: &'a TcpTable,
}

/// The TCP settings of each flow in order, overridden by those of a row; `None` for a flow over
/// UDP.
pub(super) fn of_flows(
    reader: &Reader<'_>,
    index: &str,
    tcp: &TcpTable,
    traffic: Traffic<'_>,
) -> Result<Vec<Option<TcpModel>>, FileError> {
    let ends = traffic.flows.iter().map(|(name, flow)| {
        if flow.transport == Some(TransportName::Udp) {
            return Ok(None);
        }
        let flow = flow.with_tcp(tcp);
        let model = traffic::read(reader, name, &flow, traffic.tcp_of_all);
        Ok(match model.map_err(|error| of_row(reader, index, error))?.transport {
            TransportModel::Tcp(tcp) => Some(tcp),
            TransportModel::Udp => None,
        })
    });
    ends.collect()
}

/// The same for each session; `None` for a call or a video.
pub(super) fn of_sessions(
    reader: &Reader<'_>,
    index: &str,
    tcp: &TcpTable,
    traffic: Traffic<'_>,
) -> Result<Vec<Option<lasthop_tcp::Config>>, FileError> {
    let ends = traffic.sessions.iter().map(|(name, session)| {
        let Some(session) = session.with_tcp(tcp) else { return Ok(None) };
        let config = sessions::tcp(reader, name, &session, traffic.tcp_of_all);
        config.map(Some).map_err(|error| of_row(reader, index, error))
    });
    ends.collect()
}

/// An error that the settings of a row cause: without them, the flow or session was right.
fn of_row(reader: &Reader<'_>, index: &str, error: FileError) -> FileError {
    let setting = error.key.rsplit('.').next().unwrap_or_default();
    let place = ["schemes", index, "tcp", setting];
    let is_there = reader.document.get(&place).is_some();
    reader.fail(if is_there { &place } else { &place[..3] }, error.problem)
}
