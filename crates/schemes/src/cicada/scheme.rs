//! CICADA to the worlds.

use lasthop_agent::Agent;

use super::agent::Cicada;
use super::settings::{NAME, Settings};
use super::streams::{LATE, MISSED, SAMPLES};
use crate::scheme::{Placement, Role, Scheme, Seat, read, schema};

/// An agent at the edge.
pub static SCHEME: Scheme = Scheme {
    name: NAME,
    title: "Each connection is split in two at the access point, with the sequence numbers of the ends",
    source: "Ghaboosi, Khalaj, PIMRC 2005; with today's TCP on both legs",
    advice: "Helps wherever the hop loses packets, for uploads and downloads alike, with any congestion control of the \
             senders. Acknowledges data that it has not yet delivered: the data at risk is bounded and counted, and is lost \
             if the access point fails.",
    counters: &[&LATE, &SAMPLES, &MISSED],
    read: |settings| read(settings, |settings: Settings| settings),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        matches!(seat.role, Role::Edge | Role::Relay).then(|| Box::new(Cicada::new(self)) as Box<dyn Agent>)
    }
}
