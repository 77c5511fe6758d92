//! The control socket: one request and one answer, each a line with a JSON document. Client and
//! gateway share the types here.
//!
//! The gateway refuses a command with an unknown key, because without the key it would not do what
//! was requested. A client ignores unknown keys of an answer.

mod ask;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::Path;

use lasthop_agent::Side;
use lasthop_packet::FlowKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::config::Backend;
use super::listing::Query;
use super::packet_loop::LoopReport;
#[cfg(feature = "roaming")]
use crate::frame::MacAddress;
use crate::io::Port;

pub use ask::{AskError, ask};
pub use lasthop_linux::control::Answer;

/// The maximum length of a request, in octets.
const LONGEST_QUESTION: usize = 4096;

/// A command to a running gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Return ports, rules and counters: a [`Status`].
    Status,
    /// Return the connections that the query selects: an array with one
    /// [`FlowReport`](super::engine::FlowReport) each. They have the query's order if it has a
    /// limit of at most 1,000, otherwise any order.
    Flows(Query),
    /// Return the clients in the query's order: an array with one
    /// [`ClientReport`](super::clients::ClientReport) each.
    Clients(Query),
    /// Read the configuration file again: [`Reloaded`].
    Reload,
    /// Have the agents send the packets that they hold; then forward all traffic unchanged until
    /// the next reload: [`Drained`].
    Drain,
    /// Set a connection aside: [`SetAside`].
    Aside {
        /// Both endpoints, such as `192.0.2.1:443-10.0.0.7:50000`, in either order.
        flow: String,
    },
    /// Return the clients that roam: a [`RoamingReport`](super::roaming::RoamingReport).
    #[cfg(feature = "roaming")]
    Roaming,
    /// A client has associated here: [`Noted`].
    #[cfg(feature = "roaming")]
    ClientJoined {
        /// Its MAC address.
        client: MacAddress,
        /// The access point that it comes from, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// A client is no longer associated here: [`Noted`].
    #[cfg(feature = "roaming")]
    ClientLeft {
        /// Its MAC address.
        client: MacAddress,
    },
}

/// The status of a gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its version.
    pub version: String,
    /// The path of its configuration file; `None` for a gateway without one.
    pub file: Option<String>,
    /// Its backend, by the name used in files.
    pub backend: String,
    /// Its ports.
    pub ports: Vec<PortStatus>,
    /// The report of its packet loops.
    pub report: LoopReport,
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStatus {
    /// The interface's name.
    pub name: String,
    /// `core` or `radio`.
    pub side: String,
}

/// The answer after the configuration file was read again and is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reloaded {
    /// The changes that require a restart, one sentence each.
    pub notes: Vec<String>,
}

/// The answer after the agents have sent the packets that they held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drained {
    /// Packets that they still hold.
    pub held: u64,
    /// Connections with obligations, which the agents serve until these are met.
    pub owed_connections: u64,
    /// The octets at risk of these connections.
    pub octets_at_risk: u64,
}

/// The answer after a connection was set aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {}

/// The answer after a change of a client's association was noted.
#[cfg(feature = "roaming")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {}

impl Status {
    /// Creates the status of a gateway of this version.
    pub(super) fn new(file: Option<&Path>, backend: Backend, ports: &[Port], report: LoopReport) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // JSON must be UTF-8, but a path need not be.
            file: file.map(|file| file.display().to_string()),
            backend: backend.name().to_owned(),
            ports: PortStatus::from_ports(ports),
            report,
        }
    }
}

impl PortStatus {
    /// The interfaces of a gateway, each once: with tc-bpf a radio interface has several ports, of
    /// both sides.
    pub fn from_ports(ports: &[Port]) -> Vec<Self> {
        let mut interfaces: Vec<Self> = Vec::new();
        for Port { name, side, .. } in ports {
            let side = match side {
                Side::Core => "core",
                Side::Radio => "radio",
            };
            match interfaces.iter_mut().find(|known| known.name == *name) {
                Some(known) if side == "radio" => side.clone_into(&mut known.side),
                Some(_) => {}
                None => interfaces.push(Self { name: name.clone(), side: side.to_owned() }),
            }
        }
        interfaces
    }
}

/// Whether a request is complete, or has the maximum length.
pub(super) fn is_whole(question: &[u8]) -> bool {
    question.contains(&b'\n') || question.len() >= LONGEST_QUESTION
}

/// Parses a request: the first line.
pub fn read_question(question: &[u8]) -> Result<Command, String> {
    let line = question.split(|octet| *octet == b'\n').next().unwrap_or_default();
    let wrong = |error: serde_json::Error| {
        format!("{error}; expected a line such as {}", json!({ "command": "status" }))
    };
    let command: Command = serde_json::from_slice(line).map_err(&wrong)?;
    // Deserialization does not refuse unknown keys of a command without parameters.
    let keys: Map<String, Value> = serde_json::from_slice(line).map_err(&wrong)?;
    let known = serde_json::to_value(&command).map_err(&wrong)?;
    match keys.keys().find(|key| known.get(key.as_str()).is_none()) {
        Some(unknown) => Err(wrong(serde::de::Error::custom(format!("unknown key {unknown:?}")))),
        None => Ok(command),
    }
}

/// The state of an answer that is a list, sent in parts.
#[derive(Debug, Default)]
pub(super) struct List {
    /// Whether a part was sent.
    pub(super) has_begun: bool,
    has_items: bool,
}

impl List {
    /// The part with these items, and with the end of the list if `is_end`.
    pub(super) fn part<T: Serialize>(&mut self, items: &[T], is_end: bool) -> Vec<u8> {
        let mut octets = Vec::new();
        if !self.has_begun {
            octets.extend(b"{\"ok\":[");
            self.has_begun = true;
        }
        for item in items {
            if self.has_items {
                octets.push(b',');
            }
            self.has_items = true;
            octets.extend(serde_json::to_vec(item).unwrap_or_else(|_| b"null".to_vec()));
        }
        if is_end {
            octets.extend(b"]}\n");
        }
        octets
    }
}

/// Parses a connection: `192.0.2.1:443-10.0.0.7:50000`, or with `[2001:db8::1]:443`; the prefix
/// `udp:` denotes the datagrams between these ports.
pub fn parse_flow(text: &str) -> Result<FlowKey, String> {
    let wrong = || {
        let shown: String = text.chars().take(100).collect();
        format!(
            "{shown:?} is not a connection; expected two endpoints such as 192.0.2.1:443-10.0.0.7:50000 or [2001:db8::1]:443-..., for datagrams with udp: in front"
        )
    };
    let (ends, of) =
        text.strip_prefix("udp:").map_or((text, FlowKey::tcp as fn(_, _) -> _), |ends| (ends, FlowKey::udp));
    let (one, other) = ends.split_once('-').ok_or_else(wrong)?;
    let end = |text: &str| text.trim().parse::<SocketAddr>().map_err(|_| wrong());
    let (one, other) = (end(one)?, end(other)?);
    Ok(of((one.ip(), one.port()), (other.ip(), other.port())))
}
