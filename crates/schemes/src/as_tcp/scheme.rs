//! AS-TCP to the worlds.

use lasthop_agent::Agent;

use super::edge::AsTcpEdge;
use super::settings::{NAME, Settings, SplitAt};
use crate::lle::{Lle, Place};
use crate::scheme::{Placement, Role, Scheme, Seat, schema};
use crate::settings::Presets as _;

/// An agent where connections are split, and one at each mobile host.
pub static SCHEME: Scheme = Scheme {
    name: NAME,
    title: "A split without TCP ACKs on the hop: MAC ACKs become TCP ACKs",
    source: "Jung, Choi, Seok, Kwon, Choi, \"Augmented Split-TCP over Wireless LANs\"; by default with today's TCP on both legs",
    advice: "Requires an agent at the access point and one at the mobile host; with only one of them TCP runs unchanged. \
             Helps uploads where ACKs compete with data for air time, where the access point's queue drops ACKs, and where \
             power save delays them. With many uploading stations, collisions use up the gain. Acknowledges data before it is \
             delivered: the data at risk is bounded and counted, and is lost if the access point fails. No real link reports \
             the fate of its frames to a gateway: on real links, use i-tcp or cicada.",
    counters: &[],
    read: |settings| Ok(Box::new(Settings::read(settings)?)),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        match (seat.role, self.split_at) {
            (Role::Edge, SplitAt::AccessPoint) => Some(Box::new(AsTcpEdge::new(self, Place::EndOfHop))),
            (Role::Router, SplitAt::Router) => Some(Box::new(AsTcpEdge::new(self, Place::SilentEnd))),
            (Role::MobileHost, _) => Some(Box::new(Lle::at(Place::EndOfHop, self.at_host()))),
            (Role::Edge | Role::Router | Role::Relay | Role::FixedHost, _) => None,
        }
    }
}
