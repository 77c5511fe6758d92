//! The description of Packet control as a scheme, and its placement.

use lasthop_agent::Agent;

use super::agent::{OLD_ACK, REPEATED_DATA};
use super::{PacketControl, Settings};
use crate::scheme::{Placement, Role, Scheme, Seat, schema};
use lasthop_config::preset::Presets as _;

/// An agent at the edge.
pub static SCHEME: Scheme = Scheme {
    name: "packet-control",
    title: "Old ACKs, unneeded data and some duplicate ACKs are dropped at the edge",
    source: "\"TCP packet control\", as surveyed by Sonia and Malhotra, IJCSIT Research 2(3), 2014",
    advice: "Helps senders with neither timestamps nor D-SACK on hops on which segments overtake \
             each other. The traffic of all other senders is not changed: Linux repairs most of \
             the effects by itself. As published it makes losses in small windows wait for the \
             sender's timer.",
    counters: &[&OLD_ACK, &REPEATED_DATA],
    read: |settings| Ok(Box::new(Settings::read(settings)?)),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        matches!(seat.role, Role::Edge | Role::Relay)
            .then(|| Box::new(PacketControl::new(self.clone())) as Box<dyn Agent>)
    }
}
