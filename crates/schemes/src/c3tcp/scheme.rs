//! The description of C3TCP as a scheme, and its placement.

use lasthop_agent::Agent;

use super::options::MALFORMED_OPTIONS;
use super::{C3tcp, Settings};
use crate::scheme::{Placement, Scheme, Seat, schema};
use lasthop_config::preset::Presets as _;

/// An agent at every station.
pub static SCHEME: Scheme = Scheme {
    name: "c3tcp",
    title: "The window is the bandwidth-delay product that the stations of a multi-hop path measure",
    source: "Kliazovich, dissertation, University of Trento 2006, chapter 4",
    advice: "For paths of several 802.11 hops on which every station runs it: it keeps the \
             stations' queues short. Connections that continue over a wire run plain TCP. Needs \
             options in MAC frames, which have no encoding on a real wire.",
    counters: &[&MALFORMED_OPTIONS],
    read: |settings| Ok(Box::new(Settings::read(settings)?)),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        seat.role.has_radio().then(|| Box::new(C3tcp::new(self.clone(), seat.address)) as Box<dyn Agent>)
    }
}
