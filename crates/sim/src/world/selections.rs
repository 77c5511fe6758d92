//! Links that impair a part of the traffic: all other packets pass around what the link does.

use std::time::Duration;

use super::World;
use crate::config::Direction;
use crate::id::{LinkId, PipeId};
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::selection::Selection;
use crate::technology::{Addressee, At, Egress, Technology};
use crate::wired::Pipe;

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
        self.links.wired.add(pipe)
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
        let _ = self.links.wired.enqueue(pipe.index(), Addressee::Peer, key, &mut self.transit);
        // Only a plain wired link does not report when a packet leaves it.
        if !matches!(self.network.interface(at).egress, Egress::Pipe(_)) {
            let time = self.links.wired.pipe(pipe).exact_time(len);
            self.depart(at, Addressee::Peer, key, time);
        }
        true
    }

    /// Whether a packet that arrives came through what the link does.
    pub(super) fn was_impaired(&mut self, link: LinkId, key: PacketKey) -> bool {
        let packet = self.transit.packet(key);
        let is_selected = !self.selective.are_any || self.selective.selects(link, packet);
        is_selected && !(self.cuts.are_any && self.cuts.has_made(link, packet))
    }
}
