//! The description of ELN as a scheme, and its placement.

use lasthop_agent::Agent;
use lasthop_tcp::SenderExtension;

use super::agent::{Eln, LEFT, MARKED, TOLD};
use super::sender::ElnSender;
use super::settings::Settings;
use crate::scheme::{Placement, Role, Scheme, Seat, schema};
use lasthop_config::preset::Presets as _;

/// An agent at the edge, and a part of the senders at mobile hosts.
pub static SCHEME: Scheme = Scheme {
    name: "eln",
    title: "An upload's sender learns that the hop lost a segment, and keeps its window",
    source: "Balakrishnan and Katz, Globecom Internet Mini-Conference 1998; the part for unmodified senders is lasthop's own",
    advice: "Helps uploads over a hop that loses single segments, with unmodified senders: Linux \
             undoes a reduction when an ACK shows it to be unnecessary. Needs timestamps of 1 ms. \
             The gain is smaller if the delay of the hop varies by milliseconds. congestion-floor \
             = \"30 ms\" helps CUBIC a little more, and hurts other traffic if a mobile host's \
             queue is shorter than that. Senders that do not slow down on loss gain little. The \
             ELN bit (preset = \"published\") needs a changed sender.",
    counters: &[&TOLD, &LEFT, &MARKED],
    read: |settings| Ok(Box::new(Settings::read(settings)?)),
    schema: schema::<Settings>,
};

impl Placement for Settings {
    fn agent(&self, seat: Seat) -> Option<Box<dyn Agent>> {
        matches!(seat.role, Role::Edge | Role::Relay).then(|| Box::new(Eln::new(*self)) as Box<dyn Agent>)
    }

    fn sender_extension(&self, role: Role) -> Option<Box<dyn SenderExtension>> {
        (self.mark && role == Role::MobileHost)
            .then(|| Box::new(ElnSender::default()) as Box<dyn SenderExtension>)
    }
}
