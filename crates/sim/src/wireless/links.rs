//! Wireless links as a technology.

use std::collections::VecDeque;

use lasthop_link::Channel;
use lasthop_packet::Instant;

use super::channels::Channels;
use super::hop::Hop;
use super::medium::Medium;
use super::sending::Sending;
use super::step::Step;
use crate::accounts::DropCause;
use crate::change::{Change, ChangeError};
use crate::counters::Counters;
use crate::id::{HopId, LinkId, MediumId};
use crate::packets::PacketKey;
use crate::queue::{Managed, Pushed};
use crate::schedule::Event;
use crate::technology::{Addressee, Admission, FrameFate, Output, Technology};
use crate::transit::Transit;

/// All wireless links, by direction, with their media and channels.
#[derive(Default)]
pub(crate) struct WirelessLinks {
    pub(super) hops: Vec<Hop>,
    pub(super) media: Vec<Medium>,
    pub(super) channels: Channels,
    /// What is still to be done after an event.
    pub(super) steps: VecDeque<Step>,
    pub(super) counters: Counters,
}

impl WirelessLinks {
    pub(crate) fn add_medium(&mut self) -> MediumId {
        self.media.push(Medium::default());
        MediumId::of(self.media.len() - 1)
    }

    /// Adds a link's channel; its number is for [`Hop::new`].
    pub(crate) fn add_channel(&mut self, link: LinkId, channel: Channel) -> usize {
        self.channels.add(link, channel)
    }

    pub(crate) fn add_hop(&mut self, hop: Hop) -> HopId {
        let id = HopId::of(self.hops.len());
        self.media[hop.medium.index()].add(hop.from.0, id);
        self.hops.push(hop);
        id
    }
}

impl Technology for WirelessLinks {
    fn enqueue(&mut self, port: usize, _to: Addressee, key: PacketKey, transit: &mut Transit) -> Admission {
        let waits = self.would_wait(port, transit.now());
        let hop = &mut self.hops[port];
        let medium = hop.medium;
        match hop.queue.push(key, transit.now(), waits, transit.packets_mut()) {
            Pushed::Waits => {}
            Pushed::Displaces => return Admission::Displaces,
            Pushed::Dropped(cause) => return Admission::Dropped(cause),
        }
        // A medium is free only while no frame waits for it: this is the one.
        match self.claim(medium, transit) {
            Some((hop, Sending { len, .. })) => {
                Admission::Starts(self.hops[hop.index()].pace.exact_time(len as usize))
            }
            None => Admission::Queued,
        }
    }

    fn start(&mut self, port: usize, transit: &mut Transit) {
        self.transmit(HopId::of(port), transit);
    }

    fn on_event(&mut self, event: Event, transit: &mut Transit) {
        match event {
            Event::FrameArrival(hop) => self.on_frame_arrival(hop, transit),
            Event::ExchangeOver(medium) => self.on_exchange_over(medium),
            Event::TransmissionKnown(hop) => self.on_transmission_known(hop, transit),
            _ => {}
        }
    }

    fn poll(&mut self, transit: &mut Transit) -> Option<Output> {
        while let Some(step) = self.steps.pop_front() {
            let output = match step {
                Step::Put(output) => Some(output),
                Step::Fate(hop, sending, fate) => {
                    let Hop { from: at, link, .. } = self.hops[hop.index()];
                    let Sending { key, transmissions, queueing, air_time, .. } = sending;
                    let fate = FrameFate { fate, transmissions, queueing, access: None, air_time };
                    Some(Output::Fate { at, link, key, fate })
                }
                Step::End(hop, sending) => self.end(hop, sending, transit),
                Step::Release(medium) => self.release(medium, transit),
                Step::Transmit(hop) => {
                    self.transmit(hop, transit);
                    None
                }
            };
            if output.is_some() {
                return output;
            }
        }
        None
    }

    fn would_wait(&self, port: usize, _now: Instant) -> bool {
        let hop = &self.hops[port];
        hop.is_held_up() || self.media[hop.medium.index()].held_by.is_some()
    }

    fn queue(&mut self, port: usize, _now: Instant) -> (usize, u64) {
        self.hops[port].queue.size()
    }

    fn next_displaced(&mut self, port: usize) -> Option<(PacketKey, DropCause)> {
        self.hops[port].queue.managed_mut()?.next_dropped()
    }

    fn marked(&self) -> Option<u64> {
        let managed = self.hops.iter().filter_map(|hop| hop.queue.managed());
        managed.map(Managed::marked).reduce(|one, other| one + other)
    }

    fn catch_up(&mut self, transit: &mut Transit) {
        self.channels.catch_up_all(transit);
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn doubled(&self) -> usize {
        self.hops.iter().map(Hop::doubled).sum()
    }

    fn can_change(&self, port: usize, change: &Change) -> Result<(), ChangeError> {
        self.hops[port].can_change(change)
    }

    fn change(&mut self, port: usize, change: &Change, transit: &mut Transit) {
        if let Change::Channel(config) = change {
            self.channels.replace(self.hops[port].channel, config, transit);
        } else {
            let was_stalled = self.hops[port].is_stalled();
            self.hops[port].change(change);
            if was_stalled && !self.hops[port].is_stalled() {
                transit.schedule(transit.now(), Event::TransmissionKnown(HopId::of(port)));
            }
        }
    }
}
