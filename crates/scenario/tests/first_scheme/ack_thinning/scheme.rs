//! ACK thinning to the worlds.

use std::time::Duration;

use lasthop_agent::Agent;
use lasthop_schemes::scheme::{read, schema};
use lasthop_schemes::settings::{MS, SECOND, Time};
use lasthop_schemes::{Placement, Role, Scheme, Seat};

use super::AckThinning;

/// An agent in every mobile host.
pub static SCHEME: Scheme = Scheme {
    name: "ack-thinning",
    title: "Of two plain ACKs in a row only the second crosses the hop",
    source: "the tutorial",
    advice: "Helps where ACKs compete with data for the air. Makes the sender's window grow more slowly, and its packets come in pairs.",
    read: |settings| read(settings, |settings: Settings| settings),
    schema: schema::<Settings>,
};

/// What can be set, with what it is by default.
#[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// How long an ACK waits for the next, 1 ms to 1 s; default 20 ms.
    #[serde(with = "Time::<MS, SECOND>")]
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { patience: Duration::from_millis(20) }
    }
}

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        (seat.role == Role::MobileHost).then(|| Box::new(AckThinning::new(self.clone())) as Box<dyn Agent>)
    }
}
