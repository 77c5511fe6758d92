//! A flow: an application and its transport.

use std::time::Duration;

use lasthop_sim::{Application, Opening};

/// A flow: an application and its transport.
#[derive(Clone, Debug)]
pub struct FlowModel {
    /// Its name.
    pub name: String,
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// When it starts.
    pub start: Duration,
    /// When the application stops writing.
    pub stop: Option<Duration>,
    /// The data to send.
    pub application: Application,
    /// The transport protocol.
    pub transport: TransportModel,
}

impl FlowModel {
    /// The total of octets to send; `None` if the flow has no end.
    pub const fn size(&self) -> Option<u64> {
        self.application.size()
    }

    /// Whether it has a completion time: over TCP, and with a size.
    pub const fn can_complete(&self) -> bool {
        self.tcp().is_some() && self.size().is_some()
    }

    /// Its TCP settings; `None` if it uses UDP.
    pub const fn tcp(&self) -> Option<&TcpModel> {
        match &self.transport {
            TransportModel::Tcp(tcp) => Some(tcp),
            TransportModel::Udp => None,
        }
    }
}

/// The transport protocol of a flow.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one a flow, and most flows are TCP's")]
pub enum TransportModel {
    /// A connection.
    Tcp(TcpModel),
    /// Datagrams, one for each message of the application.
    Udp,
}

/// The TCP settings of a flow.
#[derive(Clone, Debug)]
pub struct TcpModel {
    /// How the connection begins.
    pub opening: Opening,
    /// The sending endpoint.
    pub sender: lasthop_tcp::Config,
    /// The receiving endpoint.
    pub receiver: lasthop_tcp::Config,
}
