//! The control socket: a JSON document a line, one question and one answer. Both ends use the types
//! here.
//!
//! A command with a key that the gateway does not know is refused, and nothing is done: it might
//! mean less than was asked. A client leaves out what it does not know of an answer.

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
use crate::io::Port;

pub use ask::{AskError, ask};
pub use lasthop_linux::answer::Answer;

/// A question is never longer, in octets.
const LONGEST_QUESTION: usize = 4096;

/// What can be asked of a running gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Ports, rules, counters: a [`Status`].
    Status,
    /// The connections: a [`FlowReport`](super::engine::FlowReport) each, in an array. Those that the query
    /// asks for, in its order if it has a limit of at most 1,000, otherwise in any.
    Flows(Query),
    /// The clients, in the order that the query asks for: a
    /// [`ClientReport`](super::clients::ClientReport) each, in an array.
    Clients(Query),
    /// Read the configuration file again: [`Reloaded`].
    Reload,
    /// Have the agents send on what they hold; then pass everything on untouched, until the next
    /// reload: [`Drained`].
    Drain,
    /// Set a connection aside: [`SetAside`].
    Aside {
        /// One end and the other, such as `192.0.2.1:443-10.0.0.7:50000`, in either order.
        flow: String,
    },
}

/// How a gateway is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its version.
    pub version: String,
    /// The path of its configuration file; `None` for a gateway without one.
    pub file: Option<String>,
    /// How it takes frames out of the kernel's path, by the name that this has in files.
    pub backend: String,
    /// Its ports.
    pub ports: Vec<PortStatus>,
    /// What its packet loop did.
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

/// The configuration file was read again and is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reloaded {
    /// What takes a restart; each a sentence.
    pub notes: Vec<String>,
}

/// The agents have sent on what they held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drained {
    /// Packets that they hold even so.
    pub held: u64,
    /// Connections that they still owe something of, and serve until they do not.
    pub owed_connections: u64,
    /// Octets of these at risk.
    pub octets_at_risk: u64,
}

/// A connection was there, and is set aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {}

impl Status {
    /// Of a gateway of this version.
    pub(super) fn new(file: Option<&Path>, backend: Backend, ports: &[Port], report: LoopReport) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // A path need not be UTF-8, and JSON has to be.
            file: file.map(|file| file.display().to_string()),
            backend: backend.name().to_owned(),
            ports: PortStatus::of_interfaces(ports),
            report,
        }
    }
}

impl PortStatus {
    /// The interfaces of a gateway, each once: with tc-bpf a radio interface is a port of either side,
    /// and more.
    pub fn of_interfaces(ports: &[Port]) -> Vec<Self> {
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

/// Whether a question is whole, or longer than any.
pub(super) fn is_whole(question: &[u8]) -> bool {
    question.contains(&b'\n') || question.len() >= LONGEST_QUESTION
}

/// Reads a question: the first line.
pub fn read_question(question: &[u8]) -> Result<Command, String> {
    let line = question.split(|octet| *octet == b'\n').next().unwrap_or_default();
    let wrong = |error: serde_json::Error| {
        format!("{error}; expected a line such as {}", json!({ "command": "status" }))
    };
    let command: Command = serde_json::from_slice(line).map_err(&wrong)?;
    // What a command without parameters does not know is not refused by reading it alone.
    let asked: Map<String, Value> = serde_json::from_slice(line).map_err(&wrong)?;
    let known = serde_json::to_value(&command).map_err(&wrong)?;
    match asked.keys().find(|key| known.get(key.as_str()).is_none()) {
        Some(unknown) => Err(wrong(serde::de::Error::custom(format!("unknown key {unknown:?}")))),
        None => Ok(command),
    }
}

/// An answer that is a list, as it is sent part by part.
#[derive(Debug, Default)]
pub(super) struct List {
    /// Whether anything was sent.
    pub(super) has_begun: bool,
    has_items: bool,
}

impl List {
    /// The part of it that has these items, and the end of the list or not.
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

/// Reads a connection: `192.0.2.1:443-10.0.0.7:50000`, or with `[2001:db8::1]:443`; `udp:` before it
/// means the datagrams between these ports.
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
