//! The description of EBSN as a scheme, and its placement.

use lasthop_agent::Agent;
use lasthop_tcp::SenderExtension;

use super::{BadStateNotifier, EbsnSender, Settings};
use crate::scheme::{Placement, Role, Scheme, Seat, read, schema};

/// An agent at the base station, and a part of senders.
pub static SCHEME: Scheme = Scheme {
    name: "ebsn",
    title: "The sender restarts its timer at each failed local attempt",
    source: "Bakshi, Krishna, Vaidya, Pradhan, ICDCS 1997",
    advice: "Helps if the link layer keeps trying for longer than the sender's timer: long bad \
             states, many attempts. Does nothing for frames that the link layer gives up; the \
             sender then notices those losses later.",
    counters: &[],
    read: |settings| read(settings, |settings: Settings| settings),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        matches!(seat.role, Role::Edge | Role::Relay)
            .then(|| Box::new(BadStateNotifier::new(self.clone(), seat.address)) as Box<dyn Agent>)
    }

    fn sender_extension(&self, _role: Role) -> Option<Box<dyn SenderExtension>> {
        Some(Box::new(EbsnSender::new(self.longest_deferral)))
    }
}
