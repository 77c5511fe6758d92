//! The description of LLE-TCP as a scheme, and its placement.

use lasthop_agent::Agent;

use super::{Lle, Settings};
use crate::scheme::{Placement, Role, Scheme, Seat, schema};
use lasthop_config::preset::Presets as _;

/// An agent at both ends of the last hop.
pub static SCHEME: Scheme = Scheme {
    name: "lle-tcp",
    title: "ACKs made from the link layer's acknowledgments; the receiver's own ACKs stay off the air",
    source: "Kliazovich, dissertation, University of Trento 2006, chapter 3; by default no acknowledged data is lost",
    advice: "Needs an agent at both ends of the last hop; otherwise it has no effect. Helps if \
             ACKs compete with data for air time: half-duplex links, small segments, one ACK per \
             segment. Saves little if ACKs are delayed, and repairs none of the losses that the \
             link layer leaves. As published (preset = \"published\") data that the link delivers \
             and TCP does not accept is lost for good, and simultaneous traffic in both directions \
             stalls with a TCP that drops segments without the ACK bit. Uploads through an access \
             point pass untouched unless sender-buffer is set.",
    counters: &[],
    read: |settings| Ok(Box::new(Settings::read(settings)?)),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        matches!(seat.role, Role::Edge | Role::Relay | Role::MobileHost)
            .then(|| Box::new(Lle::new(self.clone(), seat.role)) as Box<dyn Agent>)
    }
}
