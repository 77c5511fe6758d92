//! Wireless links at work: exchanges on a medium.

use lasthop_agent::{Fate, LinkEvent, LinkSenses};
use lasthop_packet::{Instant, Packet, Seq};

use super::{ChannelOfLink, World};
use crate::accounts::DropCause;
use crate::id::{HopId, LinkId, MediumId, NodeId};
use crate::observe::TraceEvent;
use crate::parcel::ParcelKey;
use crate::schedule::Event;
use crate::wireless::{Feedback, Flip, InFlight, Sending};

impl World {
    /// The next exchange on a medium starts, if it is free and somebody has a frame.
    pub(super) fn use_medium(&mut self, id: MediumId) {
        let medium = &mut self.media[id.index()];
        if medium.held_by.is_some() {
            return;
        }
        let hops = &self.hops;
        if let Some(hop) = medium.next(|hop| hops[hop.index()].has_frame()) {
            medium.held_by = Some(hop);
            self.transmit_frame(hop);
        }
    }

    fn transmit_frame(&mut self, id: HopId) {
        let now = self.now;
        let hop = &mut self.hops[id.index()];
        let Some((mut sending, is_first)) = hop.next_frame(now) else { return };
        let (link, channel, medium) = (hop.link, hop.channel, hop.medium);
        let finish = hop.pace.finish(now, sending.len as usize);
        sending.transmissions += 1;
        sending.air_time += finish.since(now);
        sending.confirmed = false;
        sending.began = now;

        self.look_at_channel(channel);
        if is_first {
            self.force_channel(channel, id, sending.key);
            let hop = &self.hops[id.index()];
            let (from, time) = (hop.from.0, hop.pace.exact_time(sending.len as usize));
            self.left_queue(from, sending.key, time);
        }
        let hop = &mut self.hops[id.index()];
        let lost = self.channels[channel].channel.loses(finish) | hop.losses.happens(hop.loss);
        let (from, to, feedback) = (hop.from.0, hop.to.0, hop.layer.feedback);
        hop.sending = Some(sending);
        self.counters.frames_sent += 1;
        self.counters.frames_lost += u64::from(lost);
        if self.wants(crate::Interest::FRAMES) {
            let event = TraceEvent::Frame {
                link,
                from,
                to,
                number: sending.number,
                transmission: sending.transmissions,
                packet: self.parcels[sending.key].packet(),
                lost,
            };
            super::tell(&mut self.observers, now, &event);
        }

        let over = match feedback {
            Feedback::None | Feedback::Immediate => finish,
            Feedback::Acknowledged { timeout, .. } => finish + timeout,
        };
        if lost {
            // A coarse clock makes nothing of a short frame: trying again at once would never end.
            let hop = &self.hops[id.index()];
            let over = over.max(now + hop.pace.exact_time(sending.len as usize));
            self.schedule.push(over, Event::ExchangeOver(medium));
            return;
        }
        let key = match feedback {
            // The sender keeps the frame until it is confirmed; the copy is on its way.
            Feedback::Acknowledged { .. } | Feedback::Immediate => {
                self.parcels.copy(sending.key).unwrap_or(sending.key)
            }
            Feedback::None => sending.key,
        };
        let hop = &mut self.hops[id.index()];
        if let Some(sending) = &mut hop.sending {
            sending.copied = key != sending.key;
            sending.confirmed = !matches!(feedback, Feedback::Acknowledged { .. });
        }
        let arrival = hop.arrival(finish);
        hop.in_flight.push_back(InFlight { arrival, key, number: sending.number });
        if hop.in_flight.len() == 1 {
            self.schedule.push(arrival, Event::FrameArrival(id));
        }
        // An acknowledged exchange ends when the acknowledgment comes, or does not: that is known
        // at the receiver.
        if !matches!(feedback, Feedback::Acknowledged { .. }) {
            self.schedule.push(over, Event::ExchangeOver(medium));
        }
    }

    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(super) fn on_frame_arrival(&mut self, id: HopId) {
        let now = self.now;
        let hop = &mut self.hops[id.index()];
        let Some(InFlight { key, number, .. }) = hop.in_flight.pop_front() else { return };
        if let Some(next) = hop.in_flight.front() {
            let at = next.arrival;
            self.schedule.push(at, Event::FrameArrival(id));
        }
        let hop = &mut self.hops[id.index()];
        let (at, link) = (hop.to, hop.link);
        let is_new = hop.is_new(number);
        if is_new {
            hop.expected = number.wrapping_add(1);
        }
        self.acknowledge_frame(id, number, now);
        if !is_new {
            // The copy never counted as a packet of its own.
            self.counters.duplicate_frames += 1;
            self.parcels.remove(key);
            return;
        }
        self.arrive(at, link, key);
    }

    /// The receiver's link layer acknowledges a frame, through the same channel.
    fn acknowledge_frame(&mut self, id: HopId, number: u32, now: Instant) {
        let hop = &mut self.hops[id.index()];
        let Feedback::Acknowledged { timeout, ack_octets } = hop.layer.feedback else { return };
        let (link, channel, medium, delay, to) = (hop.link, hop.channel, hop.medium, hop.delay, hop.to.0);
        // An acknowledgment takes its time at the hop's own pace; it does not wait behind data.
        let ack_time = hop.pace.clone().finish(now, ack_octets as usize).since(now);
        self.look_at_channel(channel);
        if self.channels[channel].channel.loses(now + ack_time) {
            self.counters.link_acks_lost += 1;
            self.emit(&TraceEvent::LinkAckLost { link, from: to, number });
            // The frame's transmission ended one propagation delay ago.
            let waited = timeout.saturating_sub(delay);
            self.schedule.push(now + waited, Event::ExchangeOver(medium));
            return;
        }
        if let Some(sending) = &mut self.hops[id.index()].sending {
            sending.confirmed = true;
        }
        self.schedule.push(now + ack_time + delay, Event::ExchangeOver(medium));
    }

    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(super) fn on_exchange_over(&mut self, id: MediumId) {
        // Still held: what agents send on hearing of the frame's fate waits for its turn like
        // everything else.
        if let Some(hop) = self.media[id.index()].held_by {
            self.conclude_exchange(hop);
            self.media[id.index()].held_by = None;
        }
        self.use_medium(id);
    }

    fn conclude_exchange(&mut self, id: HopId) {
        let hop = &mut self.hops[id.index()];
        let Some(sending) = hop.sending else { return };
        let (link, from, layer, channel) = (hop.link, hop.from, hop.layer, hop.channel);
        if layer.reports_fate() {
            let Sending { transmissions, began, confirmed, .. } = sending;
            self.tell_agent(from, sending.key, |packet| LinkEvent::Attempt {
                packet,
                transmission: transmissions,
                began,
                is_confirmed: confirmed,
            });
        }
        if sending.confirmed {
            self.report_fate(from, link, sending, Fate::Delivered);
            self.end_frame(id, channel);
            if sending.copied {
                self.parcels.remove(sending.key);
            }
            return;
        }
        if layer.reports_fate() && sending.transmissions == 1 {
            self.report_fate(from, link, sending, Fate::FirstTransmissionFailed);
        }
        if sending.transmissions <= layer.retransmission_attempts {
            return;
        }
        // Without a link layer there is nobody to give up: that loss is in the accounts.
        self.counters.frames_given_up += u64::from(layer.reports_fate());
        self.report_fate(from, link, sending, Fate::GivenUp);
        self.give_up(id, sending, channel);
    }

    fn give_up(&mut self, id: HopId, sending: Sending, channel: usize) {
        let hop = &self.hops[id.index()];
        let (link, from, to) = (hop.link, hop.from.0, hop.to.0);
        self.end_frame(id, channel);
        if self.wants(crate::Interest::FRAMES) && self.hops[id.index()].layer.reports_fate() {
            let event = TraceEvent::FrameGivenUp {
                link,
                from,
                to,
                number: sending.number,
                transmissions: sending.transmissions,
                packet: self.parcels[sending.key].packet(),
            };
            super::tell(&mut self.observers, self.now, &event);
        }
        if sending.copied {
            // It did arrive; only no acknowledgment came back.
            self.parcels.remove(sending.key);
        } else {
            self.drop_parcel(from, sending.key, DropCause::WirelessLoss);
        }
    }

    fn end_frame(&mut self, id: HopId, channel: usize) {
        self.hops[id.index()].sending = None;
        let flip = self.channels[channel].channel.packet_ends(id, self.now);
        self.tell_flip(channel, flip);
    }

    fn report_fate(&mut self, at: (NodeId, usize), link: LinkId, sending: Sending, fate: Fate) {
        if self.wants(crate::Interest::FATES) && self.reports_fate(link) {
            let event = TraceEvent::FrameFate {
                link,
                from: at.0,
                event: frame(self.parcels[sending.key].packet(), sending, fate),
            };
            super::tell(&mut self.observers, self.now, &event);
        }
        self.tell_agent(at, sending.key, |packet| frame(packet, sending, fate));
    }

    fn reports_fate(&self, link: LinkId) -> bool {
        self.links[link.index()].senses.contains(LinkSenses::FRAME_FATE)
    }

    /// Turns the channel bad if this is a packet that it is to lose.
    fn force_channel(&mut self, channel: usize, by: HopId, key: ParcelKey) {
        if !self.channels[channel].channel.is_forced() {
            return;
        }
        let packet = self.parcels[key].packet();
        let Some(first) = self.first_octet(packet) else { return };
        let flip = self.channels[channel].channel.packet_begins(packet, first, by, self.now);
        self.tell_flip(channel, flip);
    }

    /// The sequence number of the first octet of data of a segment's flow.
    pub(super) fn first_octet(&self, packet: &Packet) -> Option<Seq> {
        let tcp = packet.tcp()?;
        let sender = self.flows.iter().filter_map(crate::Flow::sender).find(|sender| {
            let sender = &self.connections[sender.index()].tcp;
            sender.local() == (packet.ip().source, tcp.source_port)
                && sender.remote() == (packet.ip().destination, tcp.destination_port)
        })?;
        Some(self.connections[sender.index()].tcp.iss() + 1)
    }

    /// Brings a channel's state up to now.
    pub(super) fn look_at_channel(&mut self, channel: usize) {
        let ChannelOfLink { link, channel } = &mut self.channels[channel];
        let (link, now, observers) = (*link, self.now, &mut self.observers);
        let wanted = self.interest.contains(crate::Interest::CHANNEL);
        channel.advance(now, |Flip { at, good }| {
            if wanted {
                super::tell(observers, now, &TraceEvent::ChannelState { link, at, good });
            }
        });
    }

    /// Brings all channels up to now, so that a trace of their states is complete.
    pub(super) fn look_at_channels(&mut self) {
        for channel in 0..self.channels.len() {
            self.look_at_channel(channel);
        }
    }

    fn tell_flip(&mut self, channel: usize, flip: Option<Flip>) {
        if let Some(Flip { at, good }) = flip {
            let link = self.channels[channel].link;
            self.emit(&TraceEvent::ChannelState { link, at, good });
        }
    }
}

/// What a link layer has to tell of a frame.
const fn frame(packet: &Packet, sending: Sending, fate: Fate) -> LinkEvent<'_> {
    let Sending { transmissions, queueing, air_time, .. } = sending;
    LinkEvent::Frame { packet, fate, transmissions, queueing, access: None, air_time }
}
