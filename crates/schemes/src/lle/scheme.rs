//! LLE-TCP to the worlds.

use lasthop_agent::Agent;

use super::{Lle, Settings};
use crate::scheme::{Placement, Role, Scheme, Seat, schema};
use crate::settings::Presets as _;

/// An agent at both ends of the last hop.
pub static SCHEME: Scheme = Scheme {
    name: "lle-tcp",
    title: "ACKs made from the link layer's acknowledgments; the real ones stay off the air",
    source: "Kliazovich, dissertation, University of Trento 2006, chapter 3; by default nothing acknowledged is lost",
    advice: "Requires an agent at both ends of the last hop; with only one, it has no effect. Helps where ACKs compete with \
             data for air time: half-duplex links, small segments, an ACK per segment. Saves little where ACKs are delayed, \
             and does not repair losses that the link layer leaves. As published (preset = \"published\"), data that the link \
             delivers but TCP does not accept is lost for good, and simultaneous traffic in both directions stalls with a TCP \
             that drops segments without the ACK bit. Uploads through an access point pass untouched unless sender-buffer is \
             set.",
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
