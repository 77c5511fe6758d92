//! Wireless links as a technology: exchanges on media, each a frame and its acknowledgment where there is one.

use std::collections::VecDeque;

use lasthop_agent::Fate;
use lasthop_packet::Instant;

use super::channels::Channels;
use super::hop::{Hop, InFlight};
use super::layer::Feedback;
use super::medium::Medium;
use super::outstanding::Sending;
use crate::accounts::DropCause;
use crate::change::{Change, ChangeError};
use crate::channel::Channel;
use crate::counters::Counters;
use crate::id::{HopId, LinkId, MediumId};
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::queue::{Managed, Pushed};
use crate::schedule::Event;
use crate::technology::{Addressee, Admission, FrameFate, LinkEnds, Output, Technology};
use crate::transit::Transit;

/// All wireless links, by direction, with their media and channels.
#[derive(Default)]
pub(crate) struct WirelessLinks {
    hops: Vec<Hop>,
    media: Vec<Medium>,
    channels: Channels,
    /// The steps that remain after an event.
    steps: VecDeque<Step>,
    counters: Counters,
}

/// A part of what an event leads to. Between two of them the world carries out what came of the
/// first.
#[derive(Clone, Copy)]
enum Step {
    Put(Output),
    Fate(HopId, Sending, Fate),
    /// A frame's sender is through with it.
    End(HopId, Sending),
    /// The medium is free. Comes last, so that what agents send on a frame's fate queues behind what
    /// already waits.
    Release(MediumId),
    Transmit(HopId),
}

impl WirelessLinks {
    pub(crate) fn add_medium(&mut self) -> MediumId {
        self.media.push(Medium::default());
        MediumId::from_index(self.media.len() - 1)
    }

    /// Adds a link's channel; its number is for [`Hop::new`].
    pub(crate) fn add_channel(&mut self, link: LinkId, channel: Channel) -> usize {
        self.channels.add(link, channel)
    }

    pub(crate) fn add_hop(&mut self, hop: Hop) -> HopId {
        let id = HopId::from_index(self.hops.len());
        self.media[hop.medium().index()].add(hop.ends().from.0, id);
        self.hops.push(hop);
        id
    }

    /// The hop whose frame is next on a medium has it, if it is free and there is one.
    fn claim(&mut self, id: MediumId, transit: &mut Transit) -> Option<(HopId, Sending)> {
        let Self { media, hops, .. } = self;
        let medium = &mut media[id.index()];
        if medium.holder().is_some() {
            return None;
        }
        let hop = medium.next(|hop| hops[hop.index()].has_frame())?;
        medium.hold(hop);
        Some((hop, hops[hop.index()].next_frame(transit.now(), transit.packets_mut())?))
    }

    fn transmit(&mut self, id: HopId, transit: &mut Transit) {
        let now = transit.now();
        let hop = &mut self.hops[id.index()];
        let Some((sending, finish)) = hop.begin(now) else { return };
        let (LinkEnds { link, from: (from, _), to: (to, _) }, channel, medium) =
            (hop.ends(), hop.channel(), hop.medium());
        if sending.transmissions == 1 {
            self.channels.packet_begins(channel, id, sending.key, transit);
        }
        let lost = self.channels.loses(channel, finish, transit) | hop.loses();
        let Sending { number, transmissions: transmission, .. } = sending;
        self.counters.frames_sent += 1;
        self.counters.frames_lost += u64::from(lost);
        transit.trace(Interest::FRAMES, sending.key, |packet| TraceEvent::Frame {
            link,
            from,
            to,
            number,
            transmission,
            packet,
            lost,
        });

        let over = hop.over(finish);
        if lost {
            // A coarse clock makes nothing of a short frame: trying again at once would never end.
            let over = over.max(now + hop.exact_time(sending.len));
            transit.schedule(over, Event::ExchangeOver(medium));
            if let Some(known_at) = hop.on_lost(finish, over) {
                transit.schedule(known_at, Event::TransmissionKnown(id));
            }
            return;
        }
        // The sender keeps the frame until it is confirmed; the copy is on its way.
        let copy = if hop.keeps_frame() { transit.packets_mut().copy(sending.key) } else { None };
        if let Some(arrival) = hop.send(finish, copy.unwrap_or(sending.key)) {
            transit.schedule(arrival, Event::FrameArrival(id));
        }
        // How a stop-and-wait exchange ends is known at the receiver.
        if !hop.waits_for_acknowledgment() {
            transit.schedule(over, Event::ExchangeOver(medium));
        }
    }

    fn on_frame_arrival(&mut self, id: HopId, transit: &mut Transit) {
        let hop = &mut self.hops[id.index()];
        // The frame that the event was for may have been overtaken, and have arrived since.
        let Some((InFlight { key, number }, next)) = hop.arrive(transit.now()) else { return };
        if let Some(next) = next {
            transit.schedule(next, Event::FrameArrival(id));
        }
        let LinkEnds { link, to: at, .. } = hop.ends();
        let is_new = hop.receive(number);
        self.acknowledge(id, number, transit);
        if is_new {
            self.steps.push_back(Step::Put(Output::Arrived { at, link, key }));
        } else {
            // The copy never counted as a packet of its own.
            self.counters.duplicate_frames += 1;
            transit.packets_mut().remove(key);
        }
    }

    /// The receiver's link layer acknowledges a frame, through the same channel.
    fn acknowledge(&mut self, id: HopId, number: u32, transit: &mut Transit) {
        let now = transit.now();
        let hop = &mut self.hops[id.index()];
        let Feedback::Acknowledged { timeout, ack_octets, .. } = hop.layer().feedback else { return };
        let delay = hop.propagation();
        let ack_time = hop.acknowledgment_time(now, ack_octets);
        let is_confirmed = !self.channels.loses(hop.channel(), now + ack_time, transit);
        let known_at = if is_confirmed {
            now + ack_time + delay
        } else {
            self.counters.link_acks_lost += 1;
            let LinkEnds { link, to: (from, _), .. } = hop.ends();
            transit.emit(&TraceEvent::LinkAckLost { link, from, number });
            // The frame's transmission ended one propagation delay ago.
            now + timeout.saturating_sub(delay)
        };
        let goes_on = hop.decided(number, is_confirmed, known_at);
        let event = if goes_on { Event::TransmissionKnown(id) } else { Event::ExchangeOver(hop.medium()) };
        transit.schedule(known_at, event);
    }

    /// The sender learns of a transmission that it did not wait for; or it may transmit again, after it
    /// was stalled.
    fn on_transmission_known(&mut self, id: HopId, now: Instant) {
        let hop = &mut self.hops[id.index()];
        let (known, id_of_medium) = (hop.next_known(now), hop.medium());
        match known {
            Some(sending) => self.conclude(id, sending),
            None if hop.has_frame() => {}
            None => return,
        }
        // A medium that is free is held until what comes of it is carried out.
        let medium = &mut self.media[id_of_medium.index()];
        if medium.holder().is_none() {
            medium.hold(id);
            self.steps.push_back(Step::Release(id_of_medium));
        }
    }

    fn on_exchange_over(&mut self, id: MediumId) {
        let holder = self.media[id.index()].holder();
        if let Some((hop, sending)) = holder.and_then(|hop| Some((hop, self.hops[hop.index()].in_hand()?))) {
            self.conclude(hop, sending);
        }
        self.steps.push_back(Step::Release(id));
    }

    /// Plans what an exchange leads to.
    fn conclude(&mut self, id: HopId, sending: Sending) {
        let hop = &mut self.hops[id.index()];
        let (at, layer) = (hop.ends().from, hop.layer());
        let Sending { key, transmissions, began, confirmed: is_confirmed, .. } = sending;
        let is_last = is_confirmed || transmissions > layer.retransmission_attempts;
        let steps = &mut self.steps;
        if layer.reports_fate() {
            let transmission = transmissions;
            steps.push_back(Step::Put(Output::Attempt { at, key, transmission, began, is_confirmed }));
            if !is_confirmed && transmissions == 1 {
                steps.push_back(Step::Fate(id, sending, Fate::FirstTransmissionFailed));
            }
            if is_last {
                let fate = if is_confirmed { Fate::Delivered } else { Fate::GivenUp };
                steps.push_back(Step::Fate(id, sending, fate));
            }
        }
        if is_last {
            steps.push_back(Step::End(id, sending));
        } else {
            hop.repeat(sending.number);
        }
    }

    /// The sender is through with a frame; what is lost with it.
    fn end(&mut self, id: HopId, sending: Sending, transit: &mut Transit) -> Option<Output> {
        let Sending { key, number, transmissions, .. } = sending;
        let hop = &mut self.hops[id.index()];
        hop.done(number);
        let LinkEnds { link, from: (from, _), to: (to, _) } = hop.ends();
        // Without a link layer nothing gives up: that loss is in the accounts.
        let gives_up = !sending.confirmed && hop.layer().reports_fate();
        self.channels.packet_ends(hop.channel(), id, transit);
        if gives_up {
            self.counters.frames_given_up += 1;
            transit.trace(Interest::FRAMES, key, |packet| TraceEvent::FrameGivenUp {
                link,
                from,
                to,
                number,
                transmissions,
                packet,
            });
        }
        if sending.copied {
            // It did arrive, even if no acknowledgment came back.
            transit.packets_mut().remove(key);
        } else if !sending.confirmed {
            return Some(Output::Lost { node: from, link: Some(link), key, cause: DropCause::WirelessLoss });
        }
        None
    }

    /// What the next frame on a medium that is free leads to.
    fn release(&mut self, id: MediumId, transit: &mut Transit) -> Option<Output> {
        self.media[id.index()].release();
        let (hop, Sending { key, len, transmissions, .. }) = self.claim(id, transit)?;
        if transmissions > 0 {
            self.transmit(hop, transit);
            return None;
        }
        self.steps.push_front(Step::Transmit(hop));
        let of = &self.hops[hop.index()];
        let departs =
            Output::Departs { at: of.ends().from, to: Addressee::Peer, key, time: of.exact_time(len) };
        if of.queue().managed().is_some() {
            self.put_dropped(hop, departs);
            return None;
        }
        Some(departs)
    }

    /// What a hop's queue has dropped comes before its next frame.
    #[cold]
    fn put_dropped(&mut self, id: HopId, departs: Output) {
        self.steps.push_front(Step::Put(departs));
        let hop = &mut self.hops[id.index()];
        let LinkEnds { link, from: (node, _), .. } = hop.ends();
        let Some(managed) = hop.queue_mut().managed_mut() else { return };
        while let Some((key, cause)) = managed.last_dropped() {
            self.steps.push_front(Step::Put(Output::Dropped { node, link, key, cause }));
        }
    }
}

impl Technology for WirelessLinks {
    fn enqueue(&mut self, port: usize, _to: Addressee, key: PacketKey, transit: &mut Transit) -> Admission {
        let waits = self.would_wait(port, transit.now());
        let hop = &mut self.hops[port];
        let medium = hop.medium();
        match hop.queue_mut().push(key, transit.now(), waits, transit.packets_mut()) {
            Pushed::Waits => {}
            Pushed::Displaces => return Admission::Displaces,
            Pushed::Dropped(cause) => return Admission::Dropped(cause),
        }
        // A medium is free only while no frame waits for it: this is the one.
        match self.claim(medium, transit) {
            Some((hop, Sending { len, .. })) => Admission::Starts(self.hops[hop.index()].exact_time(len)),
            None => Admission::Queued,
        }
    }

    fn start(&mut self, port: usize, transit: &mut Transit) {
        self.transmit(HopId::from_index(port), transit);
    }

    fn on_event(&mut self, event: Event, transit: &mut Transit) {
        match event {
            Event::FrameArrival(hop) => self.on_frame_arrival(hop, transit),
            Event::ExchangeOver(medium) => self.on_exchange_over(medium),
            Event::TransmissionKnown(hop) => self.on_transmission_known(hop, transit.now()),
            _ => {}
        }
    }

    fn poll(&mut self, transit: &mut Transit) -> Option<Output> {
        while let Some(step) = self.steps.pop_front() {
            let output = match step {
                Step::Put(output) => Some(output),
                Step::Fate(hop, sending, fate) => {
                    let LinkEnds { link, from: at, .. } = self.hops[hop.index()].ends();
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
        hop.is_held_up() || self.media[hop.medium().index()].holder().is_some()
    }

    fn queue(&mut self, port: usize, _now: Instant) -> (usize, u64) {
        self.hops[port].queue().size()
    }

    fn next_displaced(&mut self, port: usize) -> Option<(PacketKey, DropCause)> {
        self.hops[port].queue_mut().managed_mut()?.next_dropped()
    }

    fn marked(&self) -> Option<u64> {
        let managed = self.hops.iter().filter_map(|hop| hop.queue().managed());
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
            self.channels.replace(self.hops[port].channel(), config, transit);
        } else {
            let was_stalled = self.hops[port].is_stalled();
            self.hops[port].change(change);
            if was_stalled && !self.hops[port].is_stalled() {
                transit.schedule(transit.now(), Event::TransmissionKnown(HopId::from_index(port)));
            }
        }
    }
}
