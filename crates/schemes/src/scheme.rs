//! The interface of a scheme to the worlds: its name, its description, and what it places where.
//! Each scheme's folder has a [`Scheme`].

use std::net::{IpAddr, Ipv4Addr};

use lasthop_agent::{Agent, Counter, LinkSenses};
use lasthop_tcp::{ReceiverExtension, SenderExtension};
use serde::de::DeserializeOwned;
use thiserror::Error;

use lasthop_config::strict;
use lasthop_config::words::{did_you_mean, for_writers};

/// The role of a node in a scheme. The scenario assigns the roles.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A host on the wired network.
    FixedHost,
    /// The node between the wired network and the wireless hop: an access point or a base station.
    Edge,
    /// A host behind the wireless hop.
    MobileHost,
    /// A node with wireless links on both sides.
    Relay,
    /// A router of the wired network. It observes its links on the path to mobile hosts.
    Router,
}

impl Role {
    /// Every role with its name in scenarios.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::FixedHost, "fixed-host"),
        (Self::Edge, "edge"),
        (Self::MobileHost, "mobile-host"),
        (Self::Relay, "relay"),
        (Self::Router, "router"),
    ];

    /// The role of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(role, _)| *role)
    }

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FixedHost => "fixed-host",
            Self::Edge => "edge",
            Self::MobileHost => "mobile-host",
            Self::Relay => "relay",
            Self::Router => "router",
        }
    }

    /// Whether it has a wireless link.
    pub const fn has_radio(self) -> bool {
        match self {
            Self::FixedHost | Self::Router => false,
            Self::Edge | Self::MobileHost | Self::Relay => true,
        }
    }
}

/// The place of an agent: a node with all its wireless interfaces.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// The node's role.
    pub role: Role,
    /// The node's address, for messages that the agent sends.
    pub address: IpAddr,
}

impl Seat {
    /// At a node in this role, without an address: to query whether there is an agent, not for one
    /// that sends messages.
    pub const fn any(role: Role) -> Self {
        Self { role, address: IpAddr::V4(Ipv4Addr::UNSPECIFIED) }
    }
}

/// A scheme with its settings: creates its agents and extensions.
pub trait Placement: Send + Sync {
    /// The agent at this place.
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        let _ = seat;
        None
    }

    /// The extension of the TCP senders on a host in this role.
    fn sender_extension(&self, role: Role) -> Option<Box<dyn SenderExtension>> {
        let _ = role;
        None
    }

    /// The extension of the TCP receivers on a host in this role.
    fn receiver_extension(&self, role: Role) -> Option<Box<dyn ReceiverExtension>> {
        let _ = role;
        None
    }
}

/// A scheme: its description, and how its settings become a [`Placement`].
pub struct Scheme {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// A one-line description.
    pub title: &'static str,
    /// The publication that describes it.
    pub source: &'static str,
    /// Where it helps, and where it hurts.
    pub advice: &'static str,
    /// Counters, and reasons to drop packets, of its agents only.
    pub counters: &'static [&'static Counter],
    /// Reads its settings.
    pub read: fn(toml::Table) -> Result<Box<dyn Placement>, toml::de::Error>,
    /// The JSON schema of its settings: of the type that `read` returns.
    pub schema: fn() -> schemars::Schema,
}

/// Why a scheme could not be configured.
#[derive(Clone, Debug, Error)]
pub enum SchemeError {
    /// There is no scheme of that name.
    #[error(
        "unknown scheme {name:?}{}; expected one of: {known}",
        did_you_mean(name, &known.split(", ").collect::<Vec<_>>())
    )]
    Unknown {
        /// The requested name, cut to 40 characters.
        name: String,
        /// The schemes that exist.
        known: String,
    },
    /// Two schemes of a stack extend TCP senders.
    #[error("{first} and {second} both have a part in TCP senders; expected one such scheme in a stack")]
    Senders {
        /// The one nearer to the core side.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// Two schemes of a stack extend TCP receivers.
    #[error("{first} and {second} both have a part in TCP receivers; expected one such scheme in a stack")]
    Receivers {
        /// The one nearer to the core side.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// Its settings are wrong.
    #[error("settings of scheme {name:?}: {problem}")]
    Settings {
        /// The scheme.
        name: &'static str,
        /// The problem.
        problem: String,
    },
}

impl SchemeError {
    /// The problem with settings, without the scheme's name; `None` for any other error.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Settings { problem, .. } => Some(problem),
            Self::Unknown { .. } | Self::Senders { .. } | Self::Receivers { .. } => None,
        }
    }
}

impl Scheme {
    /// The scheme with these settings; missing ones have their defaults.
    pub fn configure(&self, settings: toml::Table) -> Result<Box<dyn Placement>, SchemeError> {
        (self.read)(settings)
            .map_err(|error| SchemeError::Settings { name: self.name, problem: for_writers(error.message()) })
    }

    /// The JSON schema of its settings.
    pub fn schema(&self) -> schemars::Schema {
        (self.schema)()
    }

    /// What the scheme places at which roles, with its default settings, as a phrase.
    pub fn places(&self) -> String {
        let Ok(placement) = self.configure(toml::Table::new()) else { return String::new() };
        let names = |has: &dyn Fn(Role) -> bool| -> Vec<&str> {
            Role::ALL.iter().filter(|(role, _)| has(*role)).map(|(_, name)| *name).collect()
        };
        let agents = names(&|role| placement.agent(Seat::any(role)).is_some());
        let senders = names(&|role| placement.sender_extension(role).is_some());
        let receivers = names(&|role| placement.receiver_extension(role).is_some());
        let mut parts = Vec::new();
        if !agents.is_empty() {
            parts.push(format!("an agent at {}", agents.join(", ")));
        }
        for (end, roles) in [("sender", senders), ("receiver", receivers)] {
            match roles.len() {
                0 => {}
                all if all == Role::ALL.len() => parts.push(format!("a part of every TCP {end}")),
                _ => parts.push(format!("a part of TCP {end}s at {}", roles.join(", "))),
            }
        }
        if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
    }

    /// The information that its agents need from the link layer, with its default settings.
    pub fn needs(&self) -> LinkSenses {
        let placement = self.configure(toml::Table::new());
        let agents = placement
            .iter()
            .flat_map(|placement| Role::ALL.iter().filter_map(|(role, _)| placement.agent(Seat::any(*role))));
        agents.map(|agent| agent.needs()).collect()
    }
}

/// The settings of a scheme without settings.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// Reads settings that implement [`Placement`], or are converted by `place`.
pub fn read<S: DeserializeOwned, P: Placement + 'static>(
    settings: toml::Table,
    place: impl FnOnce(S) -> P,
) -> Result<Box<dyn Placement>, toml::de::Error> {
    Ok(Box::new(place(strict::read(settings)?)))
}

/// The JSON schema of settings.
pub fn schema<S: schemars::JsonSchema>() -> schemars::Schema {
    schemars::schema_for!(S)
}
