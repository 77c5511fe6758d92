//! Packet control to the worlds.

use lasthop_agent::Agent;

use super::agent::{OLD_ACK, REPEATED_DATA};
use super::{PacketControl, Settings};
use crate::scheme::{Placement, Role, Scheme, Seat, schema};
use crate::settings::Presets as _;

/// An agent at the edge.
pub static SCHEME: Scheme = Scheme {
    name: "packet-control",
    title: "Old ACKs, needless data and some duplicate ACKs are dropped at the edge",
    source: "\"TCP packet control\", as surveyed by Sonia and Malhotra, IJCSIT Research 2(3), 2014",
    advice: "Helps senders with neither timestamps nor D-SACK on hops that reorder segments. All other senders are not \
             accelerated: Linux repairs most of the damage by itself. As published, it makes losses in small windows wait for \
             the sender's timer.",
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
