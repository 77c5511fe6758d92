//! What carries a flow.

use schemars::JsonSchema;
use serde::Deserialize;

/// What carries a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TransportName {
    /// A connection.
    #[default]
    Tcp,
    /// A datagram for each message of the application, without any repetition.
    Udp,
}
