//! The catalogue: a scheme's name and settings to the agents and TCP extensions that it places, role by role.

use std::net::IpAddr;

use lasthop_agent::Agent;
use lasthop_tcp::Extension;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::icmp::{Notifier, RefinedSender, SimpleSender};
use crate::lle::{self, Lle, Reach};
use crate::snoop::{self, Snoop};
use crate::words::for_writers;

/// What a node is to a scheme. The scenario says which node plays which role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A host on the wired network.
    FixedHost,
    /// The node between the wired network and the wireless hop: access point, base station.
    Edge,
    /// A host behind the wireless hop.
    MobileHost,
    /// A node with wireless links on both sides.
    Relay,
}

impl Role {
    /// Every role with its name in scenarios.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::FixedHost, "fixed-host"),
        (Self::Edge, "edge"),
        (Self::MobileHost, "mobile-host"),
        (Self::Relay, "relay"),
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
        }
    }
}

/// Where an agent is to be placed.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The node's role.
    pub role: Role,
    /// The node's address.
    pub address: IpAddr,
    /// The address of the node at the other end of the wireless link; `None` where there are many, or they are not known.
    pub neighbour: Option<IpAddr>,
}

/// A scheme with its settings: makes what it places.
pub trait Placement: Send + Sync {
    /// The agent at each wireless interface of a node in this place.
    fn agent(&self, place: Place) -> Option<Box<dyn Agent>> {
        let _ = place;
        None
    }

    /// The part of the TCP senders on a host in this role.
    fn extension(&self, role: Role) -> Option<Box<dyn Extension>> {
        let _ = role;
        None
    }
}

/// An entry of the catalogue.
pub struct Scheme {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it places where.
    pub places: &'static str,
    /// What it needs to see of the link layer; empty for nothing.
    pub needs: &'static str,
    /// Where it helps, and where it does harm.
    pub advice: &'static str,
    configure: fn(toml::Table) -> Result<Box<dyn Placement>, toml::de::Error>,
    schema: fn() -> schemars::Schema,
}

/// Why a scheme could not be configured.
#[derive(Clone, Debug, Error)]
pub enum CatalogueError {
    /// There is no scheme of that name.
    #[error("there is no scheme {name:?}; there are: {}", names())]
    Unknown {
        /// The name asked for, cut to 40 characters.
        name: String,
    },
    /// Its settings are wrong.
    #[error("settings of scheme {name:?}: {problem}")]
    Settings {
        /// The scheme.
        name: &'static str,
        /// What is wrong.
        problem: String,
    },
}

impl Scheme {
    /// The scheme with these settings; those that are not given have their defaults.
    pub fn configure(&self, settings: toml::Table) -> Result<Box<dyn Placement>, CatalogueError> {
        (self.configure)(settings).map_err(|error| CatalogueError::Settings {
            name: self.name,
            problem: for_writers(error.message()),
        })
    }

    /// The JSON schema of its settings.
    pub fn schema(&self) -> schemars::Schema {
        (self.schema)()
    }
}

/// The scheme of this name.
pub fn find(name: &str) -> Result<&'static Scheme, CatalogueError> {
    CATALOGUE
        .iter()
        .find(|scheme| scheme.name == name)
        .ok_or_else(|| CatalogueError::Unknown { name: name.chars().take(40).collect() })
}

fn names() -> String {
    CATALOGUE.iter().map(|scheme| scheme.name).collect::<Vec<_>>().join(", ")
}

/// Every scheme there is.
pub static CATALOGUE: &[Scheme] = &[
    Scheme {
        name: "none",
        title: "TCP as it is",
        source: "-",
        places: "nothing",
        needs: "",
        advice: "What every other scheme is compared with.",
        configure: |settings| with_settings(settings, |NoSettings {}| Box::new(Nothing)),
        schema: schema::<NoSettings>,
    },
    Scheme {
        name: "snoop",
        title: "Local retransmission from a cache at the edge",
        source: "Balakrishnan, Seshan, Amir, Katz, MobiCom 1995; by default with what today's TCP needs",
        places: "edge, relay: an agent",
        needs: "",
        advice: "Helps where single segments are lost behind a long wired path. Little is left to gain for senders that do not slow \
                 down for loss. As published (preset = \"published\") it suits small windows; on a very short path at very high loss \
                 its local timer is no faster than the sender, and the copies cost air time.",
        configure: |settings| Ok(Box::new(snoop::Settings::read(settings)?)),
        schema: schema::<snoop::Settings>,
    },
    Scheme {
        name: "simple-icmp",
        title: "The sender hears of failing local attempts and spares its window",
        source: "Goel, thesis, IIT Kanpur 1997, section 5.4",
        places: "edge, relay, mobile host: an agent; TCP senders: an extension",
        needs: "fate of each frame",
        advice: "Helps a little where single segments are lost in a large window. Harmful where bursts take several segments of one \
                 window: each costs a time-out of its own.",
        configure: |settings| with_settings(settings, |NoSettings {}| Box::new(SimpleIcmp)),
        schema: schema::<NoSettings>,
    },
    Scheme {
        name: "refined-icmp",
        title: "The sender hears of a segment given up and sends it again at once",
        source: "Goel, thesis, IIT Kanpur 1997, section 5.5",
        places: "edge, relay, mobile host: an agent; TCP senders: an extension",
        needs: "fate of each frame",
        advice: "Helps wherever the link layer gives up. Needs a changed TCP sender, and ICMP that firewalls let through.",
        configure: |settings| with_settings(settings, |NoSettings {}| Box::new(RefinedIcmp)),
        schema: schema::<NoSettings>,
    },
    Scheme {
        name: "lle-tcp",
        title: "ACKs made from the link layer's acknowledgments; the real ones stay off the air",
        source: "Kliazovich, dissertation, University of Trento 2006, chapter 3; by default nothing acknowledged is lost",
        places: "edge, relay, mobile host: an agent at both ends of the last hop, or nothing happens",
        needs: "fate of each frame",
        advice: "Helps where ACKs compete with data for the air: half-duplex links, small segments, an ACK for each. Saves little where \
                 ACKs are delayed, and nothing of the loss that the link layer leaves. As published (preset = \"published\") data is lost for \
                 good that the link delivers and TCP does not take, and traffic in both directions at once stalls with a TCP \
                 that drops segments without ACK bit. Uploads through an access point pass untouched unless sender-buffer is set.",
        configure: |settings| Ok(Box::new(lle::Settings::read(settings)?)),
        schema: schema::<lle::Settings>,
    },
];

/// The settings of a scheme that has none.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoSettings {}

fn with_settings<S: DeserializeOwned>(
    settings: toml::Table,
    place: impl FnOnce(S) -> Box<dyn Placement>,
) -> Result<Box<dyn Placement>, toml::de::Error> {
    settings.try_into().map(place)
}

fn schema<S: schemars::JsonSchema>() -> schemars::Schema {
    schemars::schema_for!(S)
}

struct Nothing;

impl Placement for Nothing {}

impl Placement for snoop::Settings {
    fn agent(&self, place: Place) -> Option<Box<dyn Agent>> {
        matches!(place.role, Role::Edge | Role::Relay)
            .then(|| Box::new(Snoop::new(self.clone())) as Box<dyn Agent>)
    }
}

impl Placement for lle::Settings {
    /// Data is acknowledged only by the node before its receiver: that is any host behind an access point, and the neighbour elsewhere.
    fn agent(&self, place: Place) -> Option<Box<dyn Agent>> {
        let confirms = match place.role {
            Role::FixedHost => return None,
            Role::Edge => true,
            Role::Relay | Role::MobileHost => place.neighbour.is_some(),
        };
        let reach = Reach { neighbour: place.neighbour, confirms, receives: place.role == Role::MobileHost };
        Some(Box::new(Lle::new(self.clone(), reach)))
    }
}

struct SimpleIcmp;

impl Placement for SimpleIcmp {
    fn agent(&self, place: Place) -> Option<Box<dyn Agent>> {
        (place.role != Role::FixedHost).then(|| Box::new(Notifier::simple(place.address)) as Box<dyn Agent>)
    }

    fn extension(&self, _role: Role) -> Option<Box<dyn Extension>> {
        Some(Box::new(SimpleSender::default()))
    }
}

struct RefinedIcmp;

impl Placement for RefinedIcmp {
    fn agent(&self, place: Place) -> Option<Box<dyn Agent>> {
        (place.role != Role::FixedHost).then(|| Box::new(Notifier::refined(place.address)) as Box<dyn Agent>)
    }

    fn extension(&self, _role: Role) -> Option<Box<dyn Extension>> {
        Some(Box::new(RefinedSender::default()))
    }
}
