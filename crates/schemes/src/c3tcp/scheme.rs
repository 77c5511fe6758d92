//! C3TCP to the worlds.

use lasthop_agent::Agent;

use super::options::MALFORMED_OPTIONS;
use super::{C3tcp, Settings};
use crate::scheme::{Placement, Scheme, Seat, read, schema};

/// An agent at every station.
pub static SCHEME: Scheme = Scheme {
    name: "c3tcp",
    title: "The window is the bandwidth-delay product that the stations of a multi-hop path measure",
    source: "Kliazovich, dissertation, University of Trento 2006, chapter 4",
    advice: "For paths over several 802.11 hops whose stations all have it: queues on the way stay short. No use where a path goes on \
             over a wire: such connections have plain TCP. Needs link options in frames, which no real wire carries.",
    counters: &[&MALFORMED_OPTIONS],
    read: |settings| read(settings, |settings: Settings| settings),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        seat.role.has_radio().then(|| Box::new(C3tcp::new(self.clone(), seat.address)) as Box<dyn Agent>)
    }
}
