//! The node's side: turns link-layer failures into messages.

use std::net::IpAddr;

use lasthop_agent::{Agent, Context, Fate, LinkEvent, LinkSenses, Side, Stateless, Verdict};
use lasthop_packet::Packet;

use super::Message;

/// An agent for the node that sends data onto the wireless link: the base station, or the wireless
/// host if it is the source. It is stateless.
#[derive(Clone, Copy, Debug)]
pub struct Notifier {
    address: IpAddr,
    /// Whether it also reports frames that are given up (refined).
    reports_given_up: bool,
}

impl Notifier {
    /// Simple ICMP: only DEFER. `address` is the node's.
    pub const fn simple(address: IpAddr) -> Self {
        Self { address, reports_given_up: false }
    }

    /// Refined ICMP: DEFER and RETRANSMIT.
    pub const fn refined(address: IpAddr) -> Self {
        Self { address, reports_given_up: true }
    }
}

impl Agent for Notifier {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        let LinkEvent::Frame { packet, fate, .. } = event else { return };
        let message = match fate {
            Fate::FirstTransmissionFailed => Message::Defer,
            Fate::GivenUp if self.reports_given_up => Message::Retransmit,
            Fate::GivenUp | Fate::Delivered => return,
        };
        message.send_about(packet, self.address, cx);
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::FRAME_FATE | LinkSenses::RETRIES
    }
}

impl Stateless for Notifier {}
