//! The description of CICADA as a scheme, and its placement.

use lasthop_agent::Agent;

use super::agent::Cicada;
use super::settings::{NAME, Settings};
use super::streams::{LATE, MISSED, SAMPLES};
use crate::scheme::{Placement, Role, Scheme, Seat, schema};
use lasthop_config::preset::Presets as _;

/// An agent at the edge.
pub static SCHEME: Scheme = Scheme {
    name: NAME,
    title: "Each connection split in two at the access point, with the ends' own sequence numbers",
    source: "Ghaboosi, Khalaj, PIMRC 2005; with current TCP on both legs",
    advice: "Helps if the hop loses packets, for uploads and downloads alike, with any congestion \
             control of the senders. It acknowledges data before delivery: the data at risk is \
             bounded and counted, and is lost if the access point fails.",
    counters: &[&LATE, &SAMPLES, &MISSED],
    read: |settings| Ok(Box::new(Settings::read(settings)?)),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        matches!(seat.role, Role::Edge | Role::Relay).then(|| Box::new(Cicada::new(self)) as Box<dyn Agent>)
    }
}
