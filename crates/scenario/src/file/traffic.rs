//! The flows of a scenario.

use std::time::Duration;

use lasthop_config::FileError;
use lasthop_sim::Opening;
use schemars::JsonSchema;
use serde::Deserialize;

use super::application::{self, ApplicationTable};
use super::named::NameOrTable;
use super::quantity::{Octets, Text};
use super::reader::Reader;
use super::tcp::{self, TcpTable};
use super::transport::TransportName;
use crate::model::{FlowModel, TcpModel, TransportModel};

/// A flow: an application and its transport. If an end is a group of nodes, each member has a flow.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FlowTable {
    /// The host that sends. Over TCP it also opens the connection.
    from: String,
    /// The host that receives.
    to: String,
    /// The data to send, and when; default "bulk".
    application: Option<NameOrTable<ApplicationTable>>,
    /// The transport protocol; default "tcp".
    pub(super) transport: Option<TransportName>,
    /// With "bulk": the amount of data to transfer, above zero; over UDP it is rounded up to whole
    /// datagrams. Default: without end.
    size: Option<Text<Octets>>,
    /// When the flow starts, before the run ends; default "0 s".
    start: Option<Text<Duration>>,
    /// When the application stops writing; default never.
    stop: Option<Text<Duration>>,
    /// Over TCP: how the flow begins; default "handshake".
    opening: Option<OpeningName>,
    /// TCP settings that differ from those for all flows.
    tcp: Option<TcpTable>,
}

impl FlowTable {
    /// The same flow, with these TCP settings over its own.
    pub(super) fn with_tcp(&self, tcp: &TcpTable) -> Self {
        let own = self.tcp.clone().unwrap_or_default();
        Self { tcp: Some(tcp.over(&own)), ..self.clone() }
    }
}

/// How a flow begins.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum OpeningName {
    /// With a handshake. The flow ends with FINs.
    Handshake,
    /// Established on both sides. The flow is never closed.
    Established,
}

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &FlowTable,
    tcp_of_all: &TcpTable,
) -> Result<FlowModel, FileError> {
    let from = reader.host(&["flows", name, "from"], &table.from)?;
    let to = reader.host(&["flows", name, "to"], &table.to)?;
    if from == to {
        let problem = format!("a flow from {:?} to itself; expected another host", table.from);
        return Err(reader.fail(&["flows", name, "to"], problem));
    }
    let size = table.size.map(|Text(Octets(size))| size);
    let transport = table.transport.unwrap_or_default();
    let application = application::read(reader, name, table.application.as_ref(), table.size, transport)?;
    if size == Some(0) {
        return Err(reader
            .fail(&["flows", name, "size"], "expected data above zero, or no size for a flow without end"));
    }
    let start = reader.start(&["flows", name, "start"], table.start)?;
    let stop = table.stop.map(|Text(stop)| stop);
    if stop.is_some_and(|stop| stop <= start) {
        return Err(
            reader.fail(&["flows", name, "stop"], "the flow stops before it starts; expected a later stop")
        );
    }
    let transport = match transport {
        TransportName::Tcp => TransportModel::Tcp(over_tcp(reader, name, table, tcp_of_all)?),
        TransportName::Udp => {
            let keys = [("opening", table.opening.is_some()), ("tcp", table.tcp.is_some())];
            if let Some((key, _)) = keys.iter().find(|(_, is_given)| *is_given) {
                let problem = "allowed only with transport = \"tcp\"; leave it out";
                return Err(reader.fail(&["flows", name, key], problem));
            }
            TransportModel::Udp
        }
    };
    Ok(FlowModel { name: name.to_owned(), from, to, start, stop, application, transport })
}

fn over_tcp(
    reader: &Reader<'_>,
    name: &str,
    table: &FlowTable,
    tcp_of_all: &TcpTable,
) -> Result<TcpModel, FileError> {
    let opening = match table.opening {
        None | Some(OpeningName::Handshake) => Opening::Handshake,
        Some(OpeningName::Established) => Opening::Established,
    };
    let own = table.tcp.as_ref().unwrap_or(tcp_of_all);
    let tcp = tcp::read(reader, ["flows", name], own, tcp_of_all)?;
    Ok(TcpModel { opening, sender: tcp.clone(), receiver: tcp })
}
