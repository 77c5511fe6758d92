//! The description of WTCP as a scheme, and its placement.

use lasthop_agent::Agent;

use super::buffer::BUFFERED;
use super::{Settings, Wtcp};
use crate::scheme::{Placement, Role, Scheme, Seat, read, schema};

/// An agent at the edge.
pub static SCHEME: Scheme = Scheme {
    name: "wtcp",
    title: "Local retransmission that continues through outages and is hidden from the sender's round-trip time",
    source: "Ratnam, Matta, ISCC 1998; with Snoop's local recovery for current TCP",
    advice: "Helps where Snoop helps, and if the hop is silent for longer than the sender's timer. \
             Needs timestamps for its additions to Snoop's recovery. Hurts where Snoop hurts, and \
             with a link layer that keeps trying.",
    counters: &[&BUFFERED],
    read: |settings| read(settings, |settings: Settings| settings),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        matches!(seat.role, Role::Edge | Role::Relay)
            .then(|| Box::new(Wtcp::new(self.clone())) as Box<dyn Agent>)
    }
}
