//! Links that reset or refuse TCP connections. A reset comes out of the link at once, on the side of the end
//! that it is for, as if that was all that there is of the link.

use lasthop_packet::{FlowKey, Packet};

use super::World;
use crate::accounts::DropCause;
use crate::change::{Change, Way};
use crate::config::NodeKind;
use crate::cut::Cut;
use crate::cut_links::{Entering, WayBack};
use crate::id::LinkId;
use crate::observe::TraceEvent;
use crate::packets::PacketKey;
use crate::resets;
use crate::technology::{Addressee, At, Technology};

impl World {
    /// Follows the TCP connections that cross a link from now on, so that a later change can reset those
    /// that stand ([`Cut`]). Where such a change is planned, they are followed anyway. Those of an 802.11 cell
    /// cannot be reset.
    pub fn follow_connections(&mut self, link: LinkId) {
        let [Some(forward), Some(backward)] = self.directions(link) else { return };
        let can_cut = self.can_reconfigure_link(link, Way::Both, &Change::Cut(Cut::None)).is_ok();
        if can_cut && !self.cuts.has(link) {
            let ways_back = [forward, backward].map(|[from, _]| (from, self.add_bare_pipe(link, from)));
            self.cuts.add(link, ways_back);
        }
    }

    /// A link cuts these connections from now on.
    pub(super) fn set_cut(&mut self, link: LinkId, cut: Cut) {
        self.follow_connections(link);
        for key in self.cuts.set(link, cut, &mut self.transit) {
            self.cut_connection(link, key);
        }
    }

    /// A packet is sent into a link. Whether it ends here, because the link has cut its connection.
    #[inline(never)]
    pub(super) fn enters_in_vain(&mut self, at: At, link: LinkId, key: PacketKey) -> bool {
        let entering = self.cuts.enter(at, link, key, &mut self.transit);
        if entering == Entering::Passes {
            return false;
        }
        self.transit.accounts_mut().connections_refused += u64::from(entering == Entering::IsRefused);
        let packet = self.transit.packet(key);
        let answer =
            self.cuts.way_back(link, at, packet).zip(resets::in_answer_to(packet, self.transit.now()));
        self.drop_on_link((at.0, Some(link)), key, DropCause::ConnectionCut);
        if let Some((way, reset)) = answer {
            self.send_back(link, way, reset);
        }
        true
    }

    /// A packet arrives by a link. Whether it ends here, because the link has cut its connection.
    #[inline(never)]
    pub(super) fn arrives_in_vain(&mut self, (node, _): At, link: LinkId, key: PacketKey) -> bool {
        let is_in_vain = self.was_impaired(link, key) && self.cuts.has_cut(link, self.transit.packet(key));
        if is_in_vain {
            self.drop_on_link((node, Some(link)), key, DropCause::ConnectionCut);
        }
        is_in_vain
    }

    /// A packet has arrived by a link. What is damaged has not.
    #[inline(never)]
    pub(super) fn note_arrival(&mut self, link: LinkId, key: PacketKey) {
        if self.transit.packets().is_damaged(key) || !self.was_impaired(link, key) {
            return;
        }
        // The reset comes in behind it.
        if let Some(full) = self.cuts.leave(link, self.transit.packet(key), self.transit.now()) {
            self.cut_connection(link, full);
        }
    }

    #[cold]
    pub(super) fn on_connections_due(&mut self, link: LinkId) {
        for key in self.cuts.due(link, &mut self.transit) {
            self.cut_connection(link, key);
        }
    }

    fn cut_connection(&mut self, link: LinkId, key: FlowKey) {
        // The link may impair other traffic by now.
        if self.selective.are_any && !self.selective.selects_connection(link, key) {
            return;
        }
        self.transit.accounts_mut().connections_reset += 1;
        for (way, reset) in self.cuts.cut(link, key, self.transit.now()).into_iter().flatten() {
            self.send_back(link, way, reset);
        }
    }

    /// A packet that the link has made comes out of it.
    fn send_back(&mut self, link: LinkId, WayBack { at, pipe, node }: WayBack, packet: Packet) {
        let destination = match self.network.node(at.0).kind {
            // Whatever addresses are behind it.
            NodeKind::External => Some(at.0),
            NodeKind::Host | NodeKind::Router => {
                node.or_else(|| self.network.resolve(&packet.ip().destination))
            }
        };
        let Some(destination) = destination else { return };
        self.transit.emit(&TraceEvent::MadeByLink { node: at.0, link, packet: &packet });
        let key = self.transit.packets_mut().insert(packet);
        self.originate_to(destination, key);
        // Without a limit and without loss, it is queued.
        let _ = self.links.wired.enqueue(pipe.index(), Addressee::Peer, key, &mut self.transit);
    }
}
