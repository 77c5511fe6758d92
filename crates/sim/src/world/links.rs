//! The outputs of technologies: arrivals continue to their nodes, fates go to agents and observers.

use std::time::Duration;

use lasthop_agent::{FrameTimes, LinkEvent};

use super::World;
use super::flows::RETRY;
use crate::accounts::DropCause;
use crate::id::{At, LinkId, NodeId, PipeId};
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::technology::{Addressee, Output, Technology};

impl World {
    // The event loop's own way.
    #[expect(clippy::inline_always, reason = "every packet's every hop; measured")]
    #[inline(always)]
    pub(super) fn on_pipe_arrival(&mut self, pipe: PipeId) {
        if let Some(Output::Arrived { at, link, key }) =
            self.links.wired_mut().arrive(pipe, &mut self.transit)
        {
            self.arrive(at, link, key);
        }
    }

    // Apart from the event loop, whose own way is that of plain queues.
    #[inline(never)]
    pub(super) fn on_managed_event(&mut self, event: Event) {
        self.links.managed_wired_mut().on_event(event, &mut self.transit);
        while let Some(output) = self.links.managed_wired_mut().poll(&mut self.transit) {
            self.carry_out(output);
        }
    }

    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(super) fn on_wireless_event(&mut self, event: Event) {
        self.links.wireless_mut().on_event(event, &mut self.transit);
        while let Some(output) = self.links.wireless_mut().poll(&mut self.transit) {
            self.carry_out(output);
        }
    }

    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(super) fn on_cell_event(&mut self, event: Event) {
        self.links.cells_mut().on_event(event, &mut self.transit);
        self.pass_on_cells();
    }

    /// Carries out what came of a cell's event, and of the events that follow at once.
    pub(super) fn pass_on_cells(&mut self) {
        loop {
            while let Some(output) = self.links.cells_mut().poll(&mut self.transit) {
                self.carry_out(output);
            }
            let may = !self.is_over();
            if !self.links.cells_mut().goes_on(may, &mut self.transit) {
                break;
            }
        }
    }

    #[expect(clippy::inline_always, reason = "every frame; measured")]
    #[inline(always)]
    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Arrived { at, link, key } => self.arrive(at, link, key),
            Output::Station(cell, event) => self.on_station_event(cell, event),
            Output::Heard { node, link, key } => self.receive_broadcast(node, link, key),
            Output::Departs { at, to, key, time } => {
                self.depart(at, to, key, time);
                self.report_backlog(at, key);
            }
            Output::Transmission { at, key, times } => self.on_transmission(at, key, times),
            Output::Attempt { at, key, transmission, began, is_confirmed } => {
                self.report_to_agent(at, key, |packet| LinkEvent::Attempt {
                    packet,
                    transmission,
                    began,
                    is_confirmed,
                });
            }
            Output::Fate { at, link, key, fate } => {
                self.transit.trace(Interest::FATES, key, |packet| TraceEvent::FrameFate {
                    link,
                    from: at.0,
                    event: fate.event(packet),
                });
                self.report_to_agent(at, key, |packet| fate.event(packet));
            }
            Output::NeighbourLost { node, neighbour, key } => self.on_neighbour_lost(node, neighbour, key),
            Output::LinkBroken { at } => self.on_link_broken(at),
            Output::Dropped { node, link, key, cause } => self.drop_from_queue((node, link), key, cause),
            Output::TooOld { at, key, cause } => {
                self.report_backlog(at, key);
                let link = self.network.interface(at).link;
                self.drop_from_queue((at.0, link), key, cause);
            }
            Output::Lost { node, link, key, cause } => self.drop_on_link((node, link), key, cause),
        }
    }

    /// A data frame is about to arrive.
    #[cold]
    fn on_transmission(&mut self, at: At, key: PacketKey, times: FrameTimes) {
        self.replace_options(at, key, times);
        self.measure_hop(at, key, &times);
    }

    /// A packet that waited in a queue is dropped.
    #[cold]
    pub(super) fn drop_from_queue(
        &mut self,
        (node, link): (NodeId, LinkId),
        key: PacketKey,
        cause: DropCause,
    ) {
        self.flows.left_queue(node, key, RETRY, &mut self.transit);
        self.drop_on_link((node, Some(link)), key, cause);
    }

    /// A packet leaves the queue of an interface, and goes on the air.
    #[inline]
    pub(super) fn depart(&mut self, at: At, to: Addressee, key: PacketKey, time: Duration) {
        self.flows.left_queue(at.0, key, time, &mut self.transit);
        if to != Addressee::Peer {
            return;
        }
        if self.seats.attach_options() {
            self.give_options(at, key);
        } else {
            self.report_to_agent(at, key, |packet| LinkEvent::Departure { packet });
        }
    }

    /// A packet has just joined or left the queue of an interface. Reports the queue's size to each agent
    /// that watches an interface with this queue.
    pub(super) fn report_backlog(&mut self, at: At, key: PacketKey) {
        if !self.seats.need_backlog() {
            return;
        }
        let egress = self.network.interface(at).egress;
        let interfaces = self.network.interfaces(at.0);
        let sharing = interfaces.iter().filter(|other| self.links.share_queue(egress, other.egress));
        let mut agents = self.seats.take_list();
        agents.extend(sharing.filter_map(|interface| interface.agent));
        agents.sort_unstable();
        agents.dedup();
        for &agent in &agents {
            let (links, port) = self.links.of_mut(egress);
            let (packets, octets) = links.queue(port, self.transit.now());
            self.notify(agent, at, key, |packet| LinkEvent::Backlog { packet, packets, octets });
        }
        self.seats.put_list_back(agents);
    }
}
