//! ACK thinning to the worlds.

use lasthop_agent::Agent;
use lasthop_schemes::scheme::{read, schema};
use lasthop_schemes::{Placement, Role, Scheme, Seat};

use super::agent::{AckThinning, OVERTAKEN};
use super::settings::Settings;

/// An agent in every mobile host.
pub static SCHEME: Scheme = Scheme {
    name: "ack-thinning",
    title: "Of two plain ACKs in a row only the second crosses the hop",
    source: "the tutorial",
    advice: "Helps where ACKs compete with data for the air. Makes the sender's window grow more slowly, and its packets come in pairs.",
    counters: &[&OVERTAKEN],
    read: |settings| read(settings, |settings: Settings| settings),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        (seat.role == Role::MobileHost).then(|| Box::new(AckThinning::new(self.clone())) as Box<dyn Agent>)
    }
}
