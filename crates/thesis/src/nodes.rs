//! The kinds of nodes (thesis, section 4.2, item 4).

use lasthop_schemes::Role;
use lasthop_sim::NodeKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeType {
    WiredSource,
    WirelessSource,
    NormalRouter,
    BaseStation,
    WiredSink,
    WirelessSink,
}

impl NodeType {
    /// The type of a component's node; `None` if the component is not a node.
    pub(super) fn from_component(component: &str) -> Option<Self> {
        Some(match component {
            "wired_source_node" => Self::WiredSource,
            "wireless_source_node" => Self::WirelessSource,
            "normal_router_node" => Self::NormalRouter,
            "base_station" => Self::BaseStation,
            "wired_sink_node" => Self::WiredSink,
            "wireless_sink_node" => Self::WirelessSink,
            _ => return None,
        })
    }

    pub(super) const fn is_source(self) -> bool {
        matches!(self, Self::WiredSource | Self::WirelessSource)
    }

    pub(super) const fn is_router(self) -> bool {
        matches!(self, Self::NormalRouter | Self::BaseStation)
    }

    pub(super) const fn is_sink(self) -> bool {
        matches!(self, Self::WiredSink | Self::WirelessSink)
    }

    /// Whether it has the reliable link layer on its wireless links.
    pub(super) const fn is_reliable(self) -> bool {
        matches!(self, Self::WirelessSource | Self::BaseStation | Self::WirelessSink)
    }

    /// Whether it has a queue for each host at the other end of its wireless links.
    pub(super) const fn has_queue_per_host(self) -> bool {
        matches!(self, Self::WirelessSource | Self::BaseStation)
    }

    pub(super) const fn kind(self) -> NodeKind {
        if self.is_router() { NodeKind::Router } else { NodeKind::Host }
    }

    /// Its role in a scheme; `None` if its links imply the role.
    pub(super) const fn role(self) -> Option<Role> {
        match self {
            Self::BaseStation => None,
            Self::WirelessSource | Self::WirelessSink => Some(Role::MobileHost),
            // Only nodes with the reliable link layer generate control information. No agent goes
            // to a fixed host.
            Self::WiredSource | Self::NormalRouter | Self::WiredSink => Some(Role::FixedHost),
        }
    }
}
