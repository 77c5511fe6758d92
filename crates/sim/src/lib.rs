//! The packet-level simulator. It knows packets, agents and TCP endpoints, and no scheme.
//!
//! | module | what is in it |
//! |---|---|
//! | [`world`] | [`World`]: build it, run it, or drive it from outside (inject, advance, collect) |
//! | [`config`] | what a node, a link, a flow can be |
//! | `network` | nodes, links, addresses, routes; `nodes`: packets inside of nodes |
//! | `transit` | what all parts work with: the time, `schedule`, `packets`, `telemetry` |
//! | [`translation`] | nodes that translate addresses ([`lasthop_nat`]) |
//! | `technology` | what takes packets out of nodes: the trait; all of them: `links` |
//! | `wired` | wired links: each direction a pipe, first in, first out or with a managed queue |
//! | [`queue`] | plain queues, RED, CoDel, FQ-CoDel |
//! | [`wireless`] | medium and link layer of a wireless link of the 1997 thesis |
//! | `channel` | two states of a wireless link, each with a probability of loss |
//! | `cells` | 802.11 cells ([`lasthop_wifi`]) between nodes |
//! | [`delay`] | how long packets propagate, and whether they overtake; `flight`: those on their way |
//! | [`loss`] | which packets a link loses |
//! | [`faults`] | packets that a link delivers twice, or with a wrong bit |
//! | [`selection`] | which packets a link impairs; the links of a world that impair a part: `selective_links` |
//! | [`cut`] | which TCP connections a link resets or refuses; the links of a world that do: `cut_links`; `resets` |
//! | [`change`] | changes of a link while packets are on it; those to come: `timeline` |
//! | [`capacity`] | a fixed rate, or a measured trace in the Mahimahi format |
//! | [`routing`] | shortest paths by hop count, ways given by hand; without a world, too |
//! | [`mobility`] | where stations go: random waypoints |
//! | `flows` | flows and their applications; `connections`: their endpoints; `seats`: agents |
//! | [`flow`] | an application, what carries it, and its outcome |
//! | `sessions` | two-way applications: calls, dialogues, their connections |
//! | [`endpoint`] | [`Endpoint`]: one end of a connection, TCP's or another transport's; `endpoints`: which one a packet is for |
//! | `warm_up` | what happened before measuring began |
//! | [`observe`] | [`Observer`] and the typed events that everything measured comes from |
//! | [`accounts`] | where every packet went |
//!
//! Start with [`World`]. Deterministic: the same configuration and seed give the same sequence of
//! events on every machine.
//!
//! Not modelled: ARP, fragmentation and MTUs, the decrement of TTL, anything below IP on a wired
//! link.

pub mod accounts;
mod ad_hoc;
pub mod capacity;
mod cells;
pub mod change;
mod channel;
pub mod config;
mod connections;
pub mod counters;
pub mod cut;
mod cut_links;
pub mod delay;
pub mod endpoint;
mod endpoints;
pub mod faults;
mod flight;
pub mod flow;
mod flows;
mod hand_offs;
pub mod id;
mod links;
pub mod loss;
pub mod mobility;
mod network;
mod nodes;
pub mod observe;
mod packets;
pub mod queue;
mod radios;
mod redirections;
mod resets;
mod roams;
pub mod routing;
mod schedule;
mod seats;
pub mod selection;
mod selective_links;
mod service_sets;
mod sessions;
mod technology;
mod telemetry;
mod timeline;
mod transit;
pub mod translation;
mod tunnels;
mod warm_up;
mod wired;
pub mod wireless;
pub mod world;

pub use accounts::{Accounts, DropCause};
pub use capacity::{Capacity, CapacityTrace};
pub use channel::{ChannelConfig, Sojourn, StateSource};
pub use config::{
    Connect, Direction, FlowConfig, NodeConfig, NodeKind, Opening, RadioLinkConfig, TcpConfig,
    TransportConfig, WiredConfig, WirelessConfig,
};
pub use counters::Counters;
pub use cut::Cut;
pub use delay::{Delay, Distribution, Order};
pub use endpoint::Endpoint;
pub use faults::Faults;
pub use flow::{Flow, FlowOutcome, TcpOutcome, TransportOutcome};
pub use hand_offs::HandOffConfig;
pub use id::{FlowId, LinkId, MediumId, NodeId, ServiceSetId, SessionId, WlanId};
pub use lasthop_apps::datagrams::{DelayOutcome, UdpOutcome};
pub use lasthop_apps::durations::Durations;
pub use lasthop_apps::measured::Measured;
pub use lasthop_apps::media::{CallQuality, Playout, StreamOutcome};
pub use lasthop_apps::session::{
    Activity, CallOutcome, DialogueOutcome, Pace, SessionOutcome, SessionResult, SessionTcp,
};
pub use lasthop_apps::traffic::Application;
pub use lasthop_ess as ess;
pub use lasthop_link::QueueLimit;
pub use lasthop_nat as nat;
pub use lasthop_nat::{Nat, NatConfig};
pub use lasthop_wifi::StationId;
pub use loss::Loss;
pub use observe::{Interest, Observer, TraceEvent};
pub use queue::{Discipline, QueueConfig};
pub use radios::RadioEvent;
pub use roams::Roam;
pub use selection::Selection;
pub use service_sets::{AccessPointMember, ClientMember, Load, ServiceSetConfig, SteeringConfig};
pub use sessions::SessionConfig;
pub use technology::Sent;
pub use translation::TranslateError;
pub use wireless::{Arq, Feedback, LinkLayer};
pub use world::World;
