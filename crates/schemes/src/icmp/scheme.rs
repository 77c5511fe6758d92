//! Simple and Refined ICMP to the worlds.

use lasthop_agent::Agent;
use lasthop_tcp::SenderExtension;

use super::{Notifier, RefinedSender, SimpleSender};
use crate::scheme::{NoSettings, Placement, Role, Scheme, Seat, read, schema};

/// DEFER alone.
pub static SIMPLE: Scheme = Scheme {
    name: "simple-icmp",
    title: "The sender learns of failing local attempts and does not reduce its window",
    source: "Goel, thesis, IIT Kanpur 1997, section 5.4",
    advice: "Helps a little where single segments are lost in a large window. Hurts where bursts take several segments of one \
             window: each costs a separate time-out.",
    counters: &[],
    read: |settings| read(settings, |NoSettings {}| SimpleIcmp),
    schema: schema::<NoSettings>,
};

/// DEFER and RETRANSMIT.
pub static REFINED: Scheme = Scheme {
    name: "refined-icmp",
    title: "The sender learns that a segment was given up and retransmits it at once",
    source: "Goel, thesis, IIT Kanpur 1997, section 5.5",
    advice: "Helps wherever the link layer gives up. Requires a changed TCP sender, and firewalls that let ICMP through.",
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
