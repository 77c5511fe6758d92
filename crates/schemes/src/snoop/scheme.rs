//! The description of Snoop as a scheme, and its placement.

use lasthop_agent::Agent;
use lasthop_config::preset::Presets as _;
use lasthop_tcp::SenderExtension;

use super::agent::Snoop;
use super::published::Published;
use super::settings::{LossDetection, NAME, Settings, UplinkHalf};
use super::today::Today;
use super::uplink::NackSender;
use crate::scheme::{Placement, Role, Scheme, Seat, schema};

/// An agent at the edge.
pub static SCHEME: Scheme = Scheme {
    name: NAME,
    title: "Local retransmission from a cache at the edge",
    source: "Balakrishnan, Seshan, Amir, Katz, MobiCom 1995; by default with additions for current TCP",
    advice: "Helps if single segments are lost behind a long wired path. Senders that do not slow \
             down on loss gain little. Behind a queue of less than 7 ms, and after a tenfold rise \
             of the rate, it lowers the goodput of senders that do slow down, such as CUBIC and \
             Reno. As published (preset = \"published\") it suits small windows; on a very short \
             path at very high loss its local timer is no faster than the sender, and the copies \
             cost air time.",
    counters: &[],
    read: |settings| Ok(Box::new(Settings::read(settings)?)),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        matches!(seat.role, Role::Edge | Role::Relay).then(|| -> Box<dyn Agent> {
            match self.loss_detection {
                LossDetection::DuplicateAcks => Box::new(Snoop::<Published>::new(self.clone())),
                LossDetection::Sack => Box::new(Snoop::<Today>::new(self.clone())),
            }
        })
    }

    fn sender_extension(&self, role: Role) -> Option<Box<dyn SenderExtension>> {
        let has_part = self.uplink == UplinkHalf::Nack && role == Role::MobileHost;
        has_part.then(|| Box::new(NackSender::default()) as Box<dyn SenderExtension>)
    }
}
