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
    advice: "Takes an agent at both ends of the last hop, or nothing happens. Helps where ACKs compete with data for the air: half-duplex links, small segments, an ACK for each. Saves little where \
             ACKs are delayed, and nothing of the loss that the link layer leaves. As published (preset = \"published\") data is lost for \
             good that the link delivers and TCP does not take, and traffic in both directions at once stalls with a TCP \
             that drops segments without ACK bit. Uploads through an access point pass untouched unless sender-buffer is set.",
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
