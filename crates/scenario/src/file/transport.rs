//! The transport protocol of a flow.

use schemars::JsonSchema;
use serde::Deserialize;

/// The transport protocol of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TransportName {
    /// A TCP connection.
    #[default]
    Tcp,
    /// One datagram for each message of the application, without retransmission.
    Udp,
}
