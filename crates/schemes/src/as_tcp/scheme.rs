//! The description of AS-TCP as a scheme, and its placement.

use lasthop_agent::Agent;

use super::edge::AsTcpEdge;
use super::settings::{NAME, Settings, SplitAt};
use crate::lle::{Lle, Place};
use crate::scheme::{Placement, Role, Scheme, Seat, schema};
use lasthop_config::preset::Presets as _;

/// An agent where connections are split, and one at each mobile host.
pub static SCHEME: Scheme = Scheme {
    name: NAME,
    title: "Split connections without TCP ACKs on the hop: MAC ACKs become TCP ACKs",
    source: "Jung, Choi, Seok, Kwon, Choi, \"Augmented Split-TCP over Wireless LANs\"; by default with current TCP on both legs",
    advice: "Needs an agent at the access point and one at the mobile host; with only one of them \
             TCP runs unchanged. Helps uploads if ACKs compete with data for air time, if the \
             access point's queue drops ACKs, or if power save delays them. With many uploading \
             stations collisions use up the gain. It acknowledges data before delivery: the data \
             at risk is bounded and counted, and is lost if the access point fails. On a real link \
             it needs a Wi-Fi driver that tells the fate of each frame (tx-status in the gateway's file); \
             otherwise use i-tcp or cicada there.",
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
