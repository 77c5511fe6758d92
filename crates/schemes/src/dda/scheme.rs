//! The description of DDA as a scheme, and its placement.

use lasthop_agent::{Agent, Side};

use super::agent::Dda;
use super::settings::{DdaSeat, Settings};
use crate::scheme::{Placement, Role, Scheme, Seat, read, schema};

/// An agent at mobile hosts, or at the edge.
pub static SCHEME: Scheme = Scheme {
    name: "dda",
    title: "Duplicate ACKs are delayed while a link layer that reorders packets repairs the loss",
    source: "Vaidya, Mehta, Perkins, Montenegro, Texas A&M University 99-003; WCMC 2(1), 2002",
    advice: "Helps senders without SACK on a link layer that retransmits by itself and delivers \
             out of order. Needs no information from the link layer. Does nothing for senders with \
             SACK, which learn of everything at once. Hurts senders without SACK if the link layer \
             does not repair losses: each loss then waits for the delay.",
    counters: &[],
    read: |settings| read(settings, |settings: Settings| settings),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        let receiver = match (self.seat, seat.role) {
            (DdaSeat::MobileHost, Role::MobileHost) => Side::Core,
            (DdaSeat::Edge, Role::Edge) => Side::Radio,
            _ => return None,
        };
        Some(Box::new(Dda::new(*self, receiver)))
    }
}
