//! The description of I-TCP as a scheme, and its placement.

use lasthop_agent::Agent;
use lasthop_config::preset::Presets as _;
use lasthop_hop::split::ENDS_GONE;

use super::agent::Itcp;
use super::settings::Settings;
use crate::scheme::{Placement, Role, Scheme, Seat, schema};

/// An agent at the edge.
pub static SCHEME: Scheme = Scheme {
    name: "i-tcp",
    title: "Two connections in place of one: the access point is an end of both",
    source: "Bakre, Badrinath, ICDCS 1995, as described in CICADA's paper and Kliazovich's dissertation",
    advice: "The split that all others are compared with. Helps downloads over a lossy hop, and \
             uploads less. If the access point fails, every connection breaks, and data that it has \
             acknowledged and not delivered is lost. It cannot be removed from the path of a connection.",
    counters: &[&ENDS_GONE],
    read: |settings| Ok(Box::new(Settings::read(settings)?)),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        matches!(seat.role, Role::Edge | Role::Relay)
            .then(|| Box::new(Itcp::new(self.clone())) as Box<dyn Agent>)
    }
}
