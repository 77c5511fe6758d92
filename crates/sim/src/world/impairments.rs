//! Links that impair a part of the traffic, deliver packets twice or with a wrong bit, and reset or refuse TCP
//! connections.

use std::time::Duration;

use lasthop_packet::wire::damaged;
use lasthop_packet::{FlowKey, Packet};

use super::World;
use crate::accounts::DropCause;
use crate::change::{Change, LinkDirection};
use crate::config::{Direction, NodeKind};
use crate::cut::Cut;
use crate::cut_links::{Entering, WayBack};
use crate::faults::{Condition, Drawn};
use crate::id::{At, LinkId, PipeId};
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::resets;
use crate::selection::Selection;
use crate::technology::{Addressee, Egress, Technology};
use crate::wired::Pipe;

/// Links that impair a part of the traffic: all other packets pass around what the link does.
impl World {
    /// A link impairs these packets from now on.
    pub(super) fn select(&mut self, link: LinkId, selection: &Selection) {
        if !self.selective.set(link, selection) {
            let [Some(forward), Some(backward)] = self.directions(link) else { return };
            let ways_around = [forward, backward].map(|[from, to]| (from, self.add_bare_pipe(link, to)));
            self.selective.add(link, selection, ways_around);
        }
    }

    /// A pipe that takes packets there without what the link does.
    pub(super) fn add_bare_pipe(&mut self, link: LinkId, to: At) -> PipeId {
        // It loses and delays nothing: nothing is drawn.
        let streams = ["losses", "delays"].map(|name| self.stream(name));
        let pipe = Pipe::new(link, to, &Direction::unimpaired(), Duration::ZERO, streams);
        self.links.wired_mut().add(pipe)
    }

    /// Takes a packet that a link does not impair around it. Whether it is one.
    #[cold]
    pub(super) fn pass_around(&mut self, at: At, link: LinkId, key: PacketKey) -> bool {
        let Some(pipe) = self.selective.way_around(at, link, self.transit.packet(key)) else { return false };
        let len = self.transit.packets().len(key);
        self.transit.accounts_mut().unselected += 1;
        self.transit.trace(Interest::INTERFACES, key, |packet| TraceEvent::InterfaceOut {
            node: at.0,
            link,
            packet,
        });
        // Without a limit and without loss, it is queued.
        let _ = self.links.wired_mut().enqueue(pipe.index(), Addressee::Peer, key, &mut self.transit);
        // Only a plain wired link does not report when a packet leaves it.
        if !matches!(self.network.interface(at).egress, Egress::Pipe(_)) {
            let time = self.links.wired().exact_time(pipe, len);
            self.depart(at, Addressee::Peer, key, time);
        }
        true
    }

    /// Whether a packet that arrives came through what the link does.
    pub(super) fn was_impaired(&mut self, link: LinkId, key: PacketKey) -> bool {
        let packet = self.transit.packet(key);
        let is_selected = !self.selective.are_any() || self.selective.selects(link, packet);
        is_selected && !(self.cuts.are_any() && self.cuts.has_made(link, packet))
    }
}

/// Links that deliver packets twice, or with a wrong bit.
impl World {
    /// Applies the faults of the link by which a packet arrives here. Returns the second copy, if
    /// there is one.
    #[cold]
    pub(super) fn meet_faults(&mut self, at: At, link: LinkId, key: PacketKey) -> Option<PacketKey> {
        if !self.was_impaired(link, key) {
            return None;
        }
        let Drawn { first, second } = self.faults.draw(at);
        let copy = second.and_then(|second| self.duplicate(key, second));
        self.apply(first, key);
        copy
    }

    #[cold]
    pub(super) fn come_in_again(&mut self, at: At, link: LinkId, copy: PacketKey) {
        if self.cuts.are_any() {
            self.record_arrival(link, copy);
        }
        self.come_in(at, link, copy);
    }

    fn duplicate(&mut self, key: PacketKey, condition: Condition) -> Option<PacketKey> {
        let copy = self.transit.packets_mut().copy(key)?;
        self.transit.accounts_mut().duplicated += 1;
        self.packet_added(copy);
        self.apply(condition, copy);
        Some(copy)
    }

    fn apply(&mut self, condition: Condition, key: PacketKey) {
        let Condition::Damaged(bit) = condition else { return };
        let intact = self.transit.packet(key).clone();
        self.transit.accounts_mut().corrupted += 1;
        // For whoever waits for this copy it is lost.
        self.packet_gone(&intact);
        self.transit.packets_mut().damage(key, damaged(&intact, bit));
    }
}

/// Links that reset or refuse TCP connections. A reset comes out of the link at once, on the side of the end
/// that it is for, as if that was all that there is of the link.
impl World {
    /// Follows the TCP connections that cross a link from now on, so that a later change can reset those
    /// that stand ([`Cut`]). Where such a change is planned, they are followed anyway. Those of an 802.11 cell
    /// cannot be reset.
    pub fn follow_connections(&mut self, link: LinkId) {
        let [Some(forward), Some(backward)] = self.directions(link) else { return };
        let can_cut = self.can_reconfigure_link(link, LinkDirection::Both, &Change::Cut(Cut::None)).is_ok();
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
    pub(super) fn record_arrival(&mut self, link: LinkId, key: PacketKey) {
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
        if self.selective.are_any() && !self.selective.selects_connection(link, key) {
            return;
        }
        self.transit.accounts_mut().connections_reset += 1;
        for (way, reset) in self.cuts.cut(link, key, self.transit.now()).into_iter().flatten() {
            self.send_back(link, way, reset);
        }
    }

    /// A packet that the link has made comes out of it.
    fn send_back(&mut self, link: LinkId, WayBack { at, pipe, node }: WayBack, packet: Packet) {
        let destination = match self.network.kind(at.0) {
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
        let _ = self.links.wired_mut().enqueue(pipe.index(), Addressee::Peer, key, &mut self.transit);
    }
}
