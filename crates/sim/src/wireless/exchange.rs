//! Exchanges on a medium: a frame, and its acknowledgment where there is one.

use lasthop_agent::Fate;

use super::hop::{Hop, InFlight};
use super::layer::{Arq, Feedback};
use super::links::WirelessLinks;
use super::sending::Sending;
use super::step::Step;
use crate::accounts::DropCause;
use crate::id::{HopId, MediumId};
use crate::observe::{Interest, TraceEvent};
use crate::schedule::Event;
use crate::technology::{Addressee, Output};
use crate::transit::Transit;

impl WirelessLinks {
    /// The hop whose frame is next on a medium has it, if it is free and there is one.
    pub(super) fn claim(&mut self, id: MediumId, transit: &mut Transit) -> Option<(HopId, Sending)> {
        let Self { media, hops, .. } = self;
        let medium = &mut media[id.index()];
        if medium.held_by.is_some() {
            return None;
        }
        let hop = medium.next(|hop| hops[hop.index()].has_frame())?;
        medium.held_by = Some(hop);
        Some((hop, hops[hop.index()].next_frame(transit.now(), transit.packets_mut())?))
    }

    pub(super) fn transmit(&mut self, id: HopId, transit: &mut Transit) {
        let now = transit.now();
        let hop = &mut self.hops[id.index()];
        let Some(mut sending) = hop.sending else { return };
        let (link, channel, medium) = (hop.link, hop.channel, hop.medium);
        let finish = hop.pace.finish(now, sending.len as usize);
        sending.transmissions += 1;
        sending.air_time += finish.since(now);
        sending.confirmed = false;
        sending.began = now;

        if sending.transmissions == 1 {
            self.channels.packet_begins(channel, id, sending.key, transit);
        }
        let lost = self.channels.loses(channel, finish, transit) | hop.losses.next();
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
            Feedback::Acknowledged { timeout, arq: Arq::StopAndWait, .. } => finish + timeout,
            // Then comes the acknowledgment of some frame, or silence.
            Feedback::Acknowledged { ack_octets, arq: Arq::SelectiveRepeat { .. }, .. } => {
                hop.pace.clone().finish(finish, ack_octets as usize)
            }
        };
        if lost {
            // A coarse clock makes nothing of a short frame: trying again at once would never end.
            let over = over.max(now + hop.pace.exact_time(sending.len as usize));
            transit.schedule(over, Event::ExchangeOver(medium));
            if let Feedback::Acknowledged { timeout, arq: Arq::SelectiveRepeat { .. }, .. } = feedback {
                let known_at = over.max(finish + timeout);
                transit.schedule(known_at, Event::TransmissionKnown(id));
                hop.go_on(Some(known_at));
            }
            return;
        }
        let key = match feedback {
            // The sender keeps the frame until it is confirmed; the copy is on its way.
            Feedback::Acknowledged { .. } | Feedback::Immediate => {
                transit.packets_mut().copy(sending.key).unwrap_or(sending.key)
            }
            Feedback::None => sending.key,
        };
        if let Some(sending) = &mut hop.sending {
            sending.copied = key != sending.key;
            sending.confirmed = !matches!(feedback, Feedback::Acknowledged { .. });
        }
        if let Some(arrival) = hop.send(finish, key, number) {
            transit.schedule(arrival, Event::FrameArrival(id));
        }
        hop.go_on(None);
        // A stop-and-wait exchange ends when the acknowledgment comes, or does not: that is known at
        // the receiver.
        if !matches!(feedback, Feedback::Acknowledged { arq: Arq::StopAndWait, .. }) {
            transit.schedule(over, Event::ExchangeOver(medium));
        }
    }

    pub(super) fn on_frame_arrival(&mut self, id: HopId, transit: &mut Transit) {
        let hop = &mut self.hops[id.index()];
        // The frame that the event was for may have been overtaken, and have arrived since.
        let Some((InFlight { key, number }, next)) = hop.in_flight.pop_due(transit.now()) else { return };
        if let Some(next) = next {
            transit.schedule(next, Event::FrameArrival(id));
        }
        let (at, link) = (hop.to, hop.link);
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
        let hop = &self.hops[id.index()];
        let Feedback::Acknowledged { timeout, ack_octets, .. } = hop.layer.feedback else { return };
        let (link, channel, delay, from) = (hop.link, hop.channel, hop.propagation(), hop.to.0);
        // An acknowledgment takes its time at the hop's own pace; it does not wait behind data.
        let ack_time = hop.pace.clone().finish(now, ack_octets as usize).since(now);
        let is_confirmed = !self.channels.loses(channel, now + ack_time, transit);
        let known_at = if is_confirmed {
            now + ack_time + delay
        } else {
            self.counters.link_acks_lost += 1;
            transit.emit(&TraceEvent::LinkAckLost { link, from, number });
            // The frame's transmission ended one propagation delay ago.
            now + timeout.saturating_sub(delay)
        };
        let hop = &mut self.hops[id.index()];
        if let Some(outstanding) = &mut hop.outstanding {
            outstanding.decided(number, is_confirmed, known_at);
            transit.schedule(known_at, Event::TransmissionKnown(id));
            return;
        }
        if let Some(sending) = &mut hop.sending {
            sending.confirmed = is_confirmed;
        }
        transit.schedule(known_at, Event::ExchangeOver(hop.medium));
    }

    /// The sender learns of a transmission that it did not wait for; or it may transmit again, after it
    /// was stalled.
    pub(super) fn on_transmission_known(&mut self, id: HopId, transit: &Transit) {
        let hop = &mut self.hops[id.index()];
        let outstanding = hop.outstanding.as_mut();
        let known = outstanding.and_then(|outstanding| outstanding.next_known(transit.now()));
        let id_of_medium = hop.medium;
        match known {
            Some(sending) => self.conclude(id, sending),
            None if hop.has_frame() => {}
            None => return,
        }
        // A medium that is free is held until what comes of it is carried out.
        let medium = &mut self.media[id_of_medium.index()];
        if medium.held_by.is_none() {
            medium.held_by = Some(id);
            self.steps.push_back(Step::Release(id_of_medium));
        }
    }

    pub(super) fn on_exchange_over(&mut self, id: MediumId) {
        let held_by = self.media[id.index()].held_by;
        if let Some((hop, sending)) = held_by.and_then(|hop| Some((hop, self.hops[hop.index()].sending?))) {
            self.conclude(hop, sending);
        }
        self.steps.push_back(Step::Release(id));
    }

    /// Plans what an exchange leads to.
    fn conclude(&mut self, id: HopId, sending: Sending) {
        let hop = &mut self.hops[id.index()];
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
        } else if let Some(outstanding) = &mut hop.outstanding {
            outstanding.repeat(sending.number);
        }
    }

    /// The sender is through with a frame; what is lost with it.
    pub(super) fn end(&mut self, id: HopId, sending: Sending, transit: &mut Transit) -> Option<Output> {
        let Sending { key, number, transmissions, .. } = sending;
        let hop = &mut self.hops[id.index()];
        match &mut hop.outstanding {
            Some(outstanding) => outstanding.done(number),
            None => hop.sending = None,
        }
        let (link, from, to, channel) = (hop.link, hop.from.0, hop.to.0, hop.channel);
        // Without a link layer nothing gives up: that loss is in the accounts.
        let gives_up = !sending.confirmed && hop.layer.reports_fate();
        self.channels.packet_ends(channel, id, transit);
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
    pub(super) fn release(&mut self, id: MediumId, transit: &mut Transit) -> Option<Output> {
        self.media[id.index()].held_by = None;
        let (hop, Sending { key, len, transmissions, .. }) = self.claim(id, transit)?;
        if transmissions > 0 {
            self.transmit(hop, transit);
            return None;
        }
        self.steps.push_front(Step::Transmit(hop));
        let Hop { from, pace, queue, .. } = &self.hops[hop.index()];
        let time = pace.exact_time(len as usize);
        let departs = Output::Departs { at: *from, to: Addressee::Peer, key, time };
        if queue.managed().is_some() {
            self.put_dropped(hop, departs);
            return None;
        }
        Some(departs)
    }

    /// What a hop's queue has dropped comes before its next frame.
    #[cold]
    fn put_dropped(&mut self, id: HopId, departs: Output) {
        self.steps.push_front(Step::Put(departs));
        let Hop { from, link, queue, .. } = &mut self.hops[id.index()];
        let Some(managed) = queue.managed_mut() else { return };
        while let Some((key, cause)) = managed.last_dropped() {
            self.steps.push_front(Step::Put(Output::Dropped { node: from.0, link: *link, key, cause }));
        }
    }
}
