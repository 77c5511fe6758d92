//! Options in frames: from the agent that attaches them to the frame, and out of it again. They stay
//! with a packet for as long as it goes from radio to radio.

use lasthop_agent::{FrameTimes, LinkEvent, Side};
use lasthop_packet::LinkOptions;

use super::World;
use crate::id::At;
use crate::packets::PacketKey;
use crate::technology::Egress;

impl World {
    /// A packet was shown to an agent: it keeps its options, or has new ones, unless it leaves the
    /// radio network.
    #[cold]
    pub(super) fn keep_options(
        &mut self,
        (node, interface): At,
        key: PacketKey,
        from: Side,
        attached: Option<LinkOptions>,
    ) {
        if attached.is_none() && self.transit.packet(key).link_options().is_none() {
            return;
        }
        let destination = self.transit.packets().destination(key);
        let stays = match from {
            Side::Core => self.is_radio((node, interface)),
            Side::Radio if destination == node => false,
            // Where no table has a way, it is looked for among the stations of a cell.
            Side::Radio => {
                let next = self.network.interface_towards(node, destination);
                next.is_none_or(|next| self.is_radio((node, next)))
            }
        };
        self.transit.packets_mut().edit(key, |packet| {
            if !stays {
                packet.set_link_options(None);
            } else if attached.is_some() {
                packet.set_link_options(attached);
            }
        });
    }

    /// A packet has left the queue of an interface: its frame has the options that the agent there
    /// attaches on hearing of it, and no others.
    #[cold]
    pub(super) fn give_options(&mut self, at: At, key: PacketKey) {
        let agent = self.network.interface(at).agent;
        let attached =
            agent.and_then(|id| self.notify(id, at, key, |packet| LinkEvent::Departure { packet }));
        if attached.is_none() && self.transit.packet(key).link_options().is_none() {
            return;
        }
        let now = self.transit.now();
        let (links, port) = self.links.of_mut(self.network.interface(at).egress);
        let options = attached.filter(|options| {
            !options.is_empty() && links.attach_options(port, key, options.air_octets() as u16, now)
        });
        self.transit.packets_mut().edit(key, |packet| packet.set_link_options(options));
    }

    /// A data frame is about to arrive, and the agent that sent it may give its options other
    /// values. Their length was on the air: it stays.
    #[cold]
    pub(super) fn replace_options(&mut self, at: At, key: PacketKey, times: FrameTimes) {
        let agent = self.network.interface(at).agent;
        let replaced =
            agent.and_then(|id| self.notify(id, at, key, |packet| LinkEvent::Transmission { packet, times }));
        let Some(options) = replaced else { return };
        self.transit.packets_mut().edit(key, |packet| {
            if packet.link_options().is_some_and(|sent| sent.air_octets() == options.air_octets()) {
                packet.set_link_options(Some(options));
            }
        });
    }

    fn is_radio(&self, at: At) -> bool {
        matches!(self.network.interface(at).egress, Egress::Radio(_))
    }
}
