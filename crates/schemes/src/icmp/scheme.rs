//! The description of Simple and Refined ICMP as a scheme, and its placement.

use lasthop_agent::Agent;
use lasthop_tcp::SenderExtension;

use super::{Notifier, RefinedSender, SimpleSender};
use crate::scheme::{NoSettings, Placement, Role, Scheme, Seat, read, schema};

/// DEFER alone.
pub static SIMPLE: Scheme = Scheme {
    name: "simple-icmp",
    title: "The sender learns of failing local attempts and keeps its window",
    source: "Goel, thesis, IIT Kanpur 1997, section 5.4",
    advice: "Helps a little if single segments are lost in a large window. Hurts if bursts lose \
             several segments of one window: each segment costs a time-out of its own.",
    counters: &[],
    read: |settings| read(settings, |NoSettings {}| SimpleIcmp),
    schema: schema::<NoSettings>,
};

/// DEFER and RETRANSMIT.
pub static REFINED: Scheme = Scheme {
    name: "refined-icmp",
    title: "The sender learns that a segment was given up and sends it again at once",
    source: "Goel, thesis, IIT Kanpur 1997, section 5.5",
    advice: "Helps if the link layer gives up. Needs a changed TCP sender, and firewalls that let \
             its ICMP messages through.",
    counters: &[],
    read: |settings| read(settings, |NoSettings {}| RefinedIcmp),
    schema: schema::<NoSettings>,
};

struct SimpleIcmp;

impl Placement for SimpleIcmp {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        seat.role.has_radio().then(|| Box::new(Notifier::simple(seat.address)) as Box<dyn Agent>)
    }

    fn sender_extension(&self, _role: Role) -> Option<Box<dyn SenderExtension>> {
        Some(Box::new(SimpleSender::default()))
    }
}

struct RefinedIcmp;

impl Placement for RefinedIcmp {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        seat.role.has_radio().then(|| Box::new(Notifier::refined(seat.address)) as Box<dyn Agent>)
    }

    fn sender_extension(&self, _role: Role) -> Option<Box<dyn SenderExtension>> {
        Some(Box::new(RefinedSender::default()))
    }
}
