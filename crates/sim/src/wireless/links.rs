//! Wireless links as a technology: exchanges on a medium.

use std::collections::{BTreeMap, VecDeque};

use lasthop_agent::Fate;
use lasthop_packet::{Instant, Seq};
use lasthop_tcp::connection::Endpoint;

use super::channel::{Channel, Flip};
use super::hop::{Hop, InFlight, Sending};
use super::layer::Feedback;
use super::medium::Medium;
use crate::accounts::DropCause;
use crate::change::{Change, ChangeError};
use crate::counters::Counters;
use crate::id::{HopId, LinkId, MediumId};
use crate::observe::{Interest, TraceEvent};
use crate::parcel::ParcelKey;
use crate::schedule::Event;
use crate::technology::{Addressee, Admission, FrameFate, Output, Technology};
use crate::transit::Transit;

/// All wireless links, by direction, with their media and channels.
#[derive(Default)]
pub(crate) struct WirelessLinks {
    hops: Vec<Hop>,
    media: Vec<Medium>,
    channels: Vec<ChannelOfLink>,
    /// Where the data of TCP's streams begins, by sender and receiver: losses of chosen packets
    /// count from there.
    first_octets: BTreeMap<(Endpoint, Endpoint), Seq>,
    /// What is still to be done after an event.
    steps: VecDeque<Step>,
    counters: Counters,
}

struct ChannelOfLink {
    link: LinkId,
    channel: Channel,
}

/// A part of what an event leads to. Between two of them the world carries out what came of the
/// first.
#[derive(Clone, Copy)]
enum Step {
    Put(Output),
    Fate(HopId, Sending, Fate),
    /// A frame's sender is through with it.
    End(HopId, Sending),
    /// The medium is free. Until then what agents send on hearing of a frame's fate waits for its
    /// turn like everything else.
    Release(MediumId),
    Transmit(HopId),
}

impl WirelessLinks {
    pub(crate) fn add_medium(&mut self) -> MediumId {
        self.media.push(Medium::default());
        MediumId::of(self.media.len() - 1)
    }

    /// Adds a link's channel; its number is for [`Hop::new`].
    pub(crate) fn add_channel(&mut self, link: LinkId, channel: Channel) -> usize {
        self.channels.push(ChannelOfLink { link, channel });
        self.channels.len() - 1
    }

    pub(crate) fn add_hop(&mut self, hop: Hop) -> HopId {
        let id = HopId::of(self.hops.len());
        self.media[hop.medium.index()].add(hop.from.0, id);
        self.hops.push(hop);
        id
    }

    /// A TCP stream's data begins with this sequence number.
    pub(crate) fn note_stream(&mut self, from: Endpoint, to: Endpoint, first_octet: Seq) {
        self.first_octets.insert((from, to), first_octet);
    }

    /// The hop whose frame is next on a medium has it, if it is free and there is one.
    fn claim(&mut self, id: MediumId, now: Instant) -> Option<(HopId, Sending)> {
        let Self { media, hops, .. } = self;
        let medium = &mut media[id.index()];
        if medium.held_by.is_some() {
            return None;
        }
        let hop = medium.next(|hop| hops[hop.index()].has_frame())?;
        medium.held_by = Some(hop);
        Some((hop, hops[hop.index()].next_frame(now)?))
    }

    fn transmit(&mut self, id: HopId, transit: &mut Transit) {
        let now = transit.now;
        let hop = &mut self.hops[id.index()];
        let Some(mut sending) = hop.sending else { return };
        let (link, channel, medium) = (hop.link, hop.channel, hop.medium);
        let finish = hop.pace.finish(now, sending.len as usize);
        sending.transmissions += 1;
        sending.air_time += finish.since(now);
        sending.confirmed = false;
        sending.began = now;

        self.look_at_channel(channel, transit);
        if sending.transmissions == 1 {
            self.force_channel(channel, id, sending.key, transit);
        }
        let hop = &mut self.hops[id.index()];
        let lost = self.channels[channel].channel.loses(finish) | hop.losses.happens(hop.loss);
        let (from, to, feedback) = (hop.from.0, hop.to.0, hop.layer.feedback);
        hop.sending = Some(sending);
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

        let over = match feedback {
            Feedback::None | Feedback::Immediate => finish,
            Feedback::Acknowledged { timeout, .. } => finish + timeout,
        };
        if lost {
            // A coarse clock makes nothing of a short frame: trying again at once would never end.
            let over = over.max(now + hop.pace.exact_time(sending.len as usize));
            transit.schedule.push(over, Event::ExchangeOver(medium));
            return;
        }
        let key = match feedback {
            // The sender keeps the frame until it is confirmed; the copy is on its way.
            Feedback::Acknowledged { .. } | Feedback::Immediate => {
                transit.parcels.copy(sending.key).unwrap_or(sending.key)
            }
            Feedback::None => sending.key,
        };
        if let Some(sending) = &mut hop.sending {
            sending.copied = key != sending.key;
            sending.confirmed = !matches!(feedback, Feedback::Acknowledged { .. });
        }
        let arrival = hop.arrival(finish);
        hop.in_flight.push_back(InFlight { arrival, key, number });
        if hop.in_flight.len() == 1 {
            transit.schedule.push(arrival, Event::FrameArrival(id));
        }
        // An acknowledged exchange ends when the acknowledgment comes, or does not: that is known
        // at the receiver.
        if !matches!(feedback, Feedback::Acknowledged { .. }) {
            transit.schedule.push(over, Event::ExchangeOver(medium));
        }
    }

    fn on_frame_arrival(&mut self, id: HopId, transit: &mut Transit) {
        let hop = &mut self.hops[id.index()];
        let Some(InFlight { key, number, .. }) = hop.in_flight.pop_front() else { return };
        if let Some(next) = hop.in_flight.front() {
            transit.schedule.push(next.arrival, Event::FrameArrival(id));
        }
        let (at, link) = (hop.to, hop.link);
        let is_new = hop.is_new(number);
        if is_new {
            hop.expected = number.wrapping_add(1);
        }
        self.acknowledge(id, number, transit);
        if is_new {
            self.steps.push_back(Step::Put(Output::Arrived { at, link, key }));
        } else {
            // The copy never counted as a packet of its own.
            self.counters.duplicate_frames += 1;
            transit.parcels.remove(key);
        }
    }

    /// The receiver's link layer acknowledges a frame, through the same channel.
    fn acknowledge(&mut self, id: HopId, number: u32, transit: &mut Transit) {
        let now = transit.now;
        let hop = &self.hops[id.index()];
        let Feedback::Acknowledged { timeout, ack_octets } = hop.layer.feedback else { return };
        let (link, channel, medium, delay, from) = (hop.link, hop.channel, hop.medium, hop.delay, hop.to.0);
        // An acknowledgment takes its time at the hop's own pace; it does not wait behind data.
        let ack_time = hop.pace.clone().finish(now, ack_octets as usize).since(now);
        self.look_at_channel(channel, transit);
        if self.channels[channel].channel.loses(now + ack_time) {
            self.counters.link_acks_lost += 1;
            transit.emit(&TraceEvent::LinkAckLost { link, from, number });
            // The frame's transmission ended one propagation delay ago.
            let waited = timeout.saturating_sub(delay);
            transit.schedule.push(now + waited, Event::ExchangeOver(medium));
            return;
        }
        if let Some(sending) = &mut self.hops[id.index()].sending {
            sending.confirmed = true;
        }
        transit.schedule.push(now + ack_time + delay, Event::ExchangeOver(medium));
    }

    fn on_exchange_over(&mut self, id: MediumId) {
        let held_by = self.media[id.index()].held_by;
        if let Some((hop, sending)) = held_by.and_then(|hop| Some((hop, self.hops[hop.index()].sending?))) {
            self.conclude(hop, sending);
        }
        self.steps.push_back(Step::Release(id));
    }

    /// Plans what an exchange leads to.
    fn conclude(&mut self, id: HopId, sending: Sending) {
        let hop = &self.hops[id.index()];
        let (at, layer) = (hop.from, hop.layer);
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
        }
    }

    /// The sender is through with a frame; what is lost with it.
    fn end(&mut self, id: HopId, sending: Sending, transit: &mut Transit) -> Option<Output> {
        let Sending { key, number, transmissions, .. } = sending;
        let hop = &mut self.hops[id.index()];
        hop.sending = None;
        let (link, from, to, channel) = (hop.link, hop.from.0, hop.to.0, hop.channel);
        // Without a link layer nothing gives up: that loss is in the accounts.
        let gives_up = !sending.confirmed && hop.layer.reports_fate();
        let flip = self.channels[channel].channel.packet_ends(id, transit.now);
        self.tell_flip(channel, flip, transit);
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
            transit.parcels.remove(key);
        } else if !sending.confirmed {
            return Some(Output::Lost { node: from, key, cause: DropCause::WirelessLoss });
        }
        None
    }

    /// What the next frame on a medium that is free leads to.
    fn release(&mut self, id: MediumId, transit: &mut Transit) -> Option<Output> {
        self.media[id.index()].held_by = None;
        let (hop, Sending { key, len, transmissions, .. }) = self.claim(id, transit.now)?;
        if transmissions > 0 {
            self.transmit(hop, transit);
            return None;
        }
        self.steps.push_front(Step::Transmit(hop));
        let Hop { from: (node, interface), pace, .. } = &self.hops[hop.index()];
        let time = pace.exact_time(len as usize);
        Some(Output::Departs { node: *node, interface: Some(*interface), key, time })
    }

    /// Turns the channel bad if this is a packet that it is to lose.
    fn force_channel(&mut self, channel: usize, by: HopId, key: ParcelKey, transit: &mut Transit) {
        if !self.channels[channel].channel.is_forced() {
            return;
        }
        let packet = transit.parcels[key].packet();
        let Some(tcp) = packet.tcp() else { return };
        let (from, to) =
            ((packet.ip().source, tcp.source_port), (packet.ip().destination, tcp.destination_port));
        let Some(first) = self.first_octets.get(&(from, to)) else { return };
        let flip = self.channels[channel].channel.packet_begins(packet, *first, by, transit.now);
        self.tell_flip(channel, flip, transit);
    }

    /// Brings a channel's state up to now.
    fn look_at_channel(&mut self, channel: usize, transit: &mut Transit) {
        let ChannelOfLink { link, channel } = &mut self.channels[channel];
        let link = *link;
        channel.advance(transit.now, |Flip { at, good }| {
            let event = TraceEvent::ChannelState { link, at, good };
            transit.telemetry.emit(transit.now, &event);
        });
    }

    fn tell_flip(&self, channel: usize, flip: Option<Flip>, transit: &mut Transit) {
        if let Some(Flip { at, good }) = flip {
            let link = self.channels[channel].link;
            transit.emit(&TraceEvent::ChannelState { link, at, good });
        }
    }

    fn replace_channel(&mut self, index: usize, config: &super::ChannelConfig, transit: &mut Transit) {
        self.look_at_channel(index, transit);
        let (now, ChannelOfLink { link, channel }) = (transit.now, &mut self.channels[index]);
        let was_good = channel.is_good();
        *channel = channel.replaced(config.clone(), now);
        if !was_good {
            transit.emit(&TraceEvent::ChannelState { link: *link, at: now, good: true });
        }
    }
}

impl Technology for WirelessLinks {
    fn enqueue(&mut self, port: usize, _to: Addressee, key: ParcelKey, transit: &mut Transit) -> Admission {
        let len = transit.parcels[key].len();
        let waits = self.would_wait(port, transit.now);
        let hop = &mut self.hops[port];
        let medium = hop.medium;
        if !hop.push(key, len, transit.now, waits) {
            return Admission::Dropped(DropCause::QueueFull);
        }
        // A medium is free only while no frame waits for it: this is the one.
        match self.claim(medium, transit.now) {
            Some((hop, ..)) => Admission::Starts(self.hops[hop.index()].pace.exact_time(len)),
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
        hop.has_frame() || self.media[hop.medium.index()].held_by.is_some()
    }

    fn queue(&mut self, port: usize, _now: Instant) -> (usize, u64) {
        self.hops[port].queue()
    }

    fn catch_up(&mut self, transit: &mut Transit) {
        for channel in 0..self.channels.len() {
            self.look_at_channel(channel, transit);
        }
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
        match change {
            Change::Channel(config) => self.replace_channel(self.hops[port].channel, config, transit),
            _ => self.hops[port].change(change),
        }
    }
}
