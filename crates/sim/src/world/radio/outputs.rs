//! What comes out of a cell: frames that arrived go on as packets, fates go to agents, routing and
//! observers.

use std::time::Duration;

use lasthop_agent::{Fate, LinkEvent};
use lasthop_packet::Packet;

use super::{Arrival, Radio};
use crate::accounts::DropCause;
use crate::id::{AgentId, StationId, WlanId};
use crate::observe::{Interest, TraceEvent};
use crate::parcel::ParcelKey;
use crate::schedule::Event;
use crate::wifi::{MacFrame, Output, Receiver};
use crate::world::{World, tell};

impl World {
    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(in crate::world) fn on_radio(&mut self, id: WlanId) {
        let cell = &mut self.cells[id.index()];
        if !cell.timer.fired(self.now) {
            return;
        }
        cell.wlan.on_event(self.now);
        let mut outputs = cell.wlan.take_outputs();
        if !outputs.is_empty() {
            self.count_radio(id);
        }
        // What comes of them may put further frames in, which puts no outputs out.
        for output in outputs.drain(..) {
            match output {
                Output::Delivered { at, from, frame } => self.on_frame_delivered(id, (from, at), frame),
                Output::Attempt { from, frame, began, transmission, lost, acknowledged } => {
                    self.on_frame_attempted(id, from, frame, transmission, (lost, acknowledged));
                    self.tell_attempt(id, from, frame, |packet| LinkEvent::Attempt {
                        packet,
                        transmission,
                        began,
                        is_confirmed: acknowledged,
                    });
                }
                Output::Fate { from, frame, fate, transmissions, queueing, access, air_time } => {
                    let (queueing, air_time) =
                        (Duration::from_nanos(queueing), Duration::from_nanos(air_time));
                    if fate != Fate::FirstTransmissionFailed {
                        let used = &mut self.cells[id.index()].stations[from.index()].used;
                        used.frames += 1;
                        used.transmissions += u64::from(transmissions);
                        used.given_up += u64::from(fate == Fate::GivenUp);
                        used.air_time += air_time;
                        used.access += Duration::from_nanos(access);
                    }
                    self.on_frame_fate(id, from, frame, |packet| LinkEvent::Frame {
                        packet,
                        fate,
                        transmissions,
                        queueing,
                        access: Some(Duration::from_nanos(access)),
                        air_time,
                    });
                    if fate == Fate::GivenUp {
                        self.on_frame_given_up(id, from, frame, transmissions);
                        self.tell_routing(id, from, frame);
                    }
                    if fate != Fate::FirstTransmissionFailed {
                        self.end_radio_frame(id, from, frame);
                    }
                    if fate == Fate::GivenUp {
                        self.route_anew(id, from, frame);
                    }
                }
            }
        }
        let cell = &mut self.cells[id.index()];
        cell.wlan.give_back(outputs);
        cell.timer.follow(cell.wlan.next_event_at(), Event::Radio(id), &mut self.schedule);
    }

    fn count_radio(&mut self, id: WlanId) {
        let cell = &mut self.cells[id.index()];
        let now = *cell.wlan.counters();
        let before = std::mem::replace(&mut cell.counted, now);
        let counters = &mut self.counters;
        counters.frames_sent += now.attempts - before.attempts;
        counters.frames_lost += (now.failures - now.acks_lost) - (before.failures - before.acks_lost);
        counters.frames_given_up += now.given_up - before.given_up;
        counters.link_acks_lost += now.acks_lost - before.acks_lost;
        counters.duplicate_frames += now.duplicates - before.duplicates;
    }

    fn on_frame_delivered(&mut self, id: WlanId, (from, at): (StationId, StationId), frame: MacFrame) {
        if frame.to == Receiver::Broadcast {
            let node = self.cells[id.index()].stations[at.index()].node;
            let link = self.port(id, at, from).map(|back| back.link);
            self.hear_broadcast(node, link, ParcelKey(frame.key));
            return;
        }
        let (Some(port), Some(back)) = (self.port(id, from, at), self.port(id, at, from)) else { return };
        let sender = &mut self.cells[id.index()].stations[from.index()];
        let is_wanted = self.interest.intersects(Interest::FATES | Interest::FRAMES)
            || self.nodes[sender.node.index()].interfaces[port.interface].agent.is_some();
        let mut key = ParcelKey(frame.key);
        sender.arrival = if is_wanted { Arrival::Copied } else { Arrival::Moved };
        if is_wanted && let Some(copy) = self.parcels.copy(key) {
            key = copy;
        }
        let node = self.cells[id.index()].stations[at.index()].node;
        self.arrive((node, back.interface), back.link, key);
    }

    fn on_frame_attempted(
        &mut self,
        id: WlanId,
        from: StationId,
        frame: MacFrame,
        transmission: u32,
        (lost, acknowledged): (bool, bool),
    ) {
        let Some(port) = self.port_of(id, from, frame) else { return };
        let stations = &self.cells[id.index()].stations;
        let (node, to) = (stations[from.index()].node, stations[port.to.index()].node);
        let Radio { number, arrival, .. } = stations[from.index()];
        if arrival != Arrival::Moved && self.wants(Interest::FRAMES) {
            let packet = self.parcels[ParcelKey(frame.key)].packet();
            let event =
                TraceEvent::Frame { link: port.link, from: node, to, number, transmission, packet, lost };
            tell(&mut self.observers, self.now, &event);
        }
        if !lost && !acknowledged {
            self.emit(&TraceEvent::LinkAckLost { link: port.link, from: to, number });
        }
    }

    /// A broadcast is on no link, and has no confirmation.
    fn tell_attempt(
        &mut self,
        id: WlanId,
        from: StationId,
        frame: MacFrame,
        event: impl Fn(&Packet) -> LinkEvent<'_>,
    ) {
        let Some(port) = self.port_of(id, from, frame) else { return };
        let radio = &self.cells[id.index()].stations[from.index()];
        if radio.arrival != Arrival::Moved {
            self.tell_agent((radio.node, port.interface), ParcelKey(frame.key), event);
        }
    }

    fn on_frame_fate(
        &mut self,
        id: WlanId,
        from: StationId,
        frame: MacFrame,
        event: impl Fn(&Packet) -> LinkEvent<'_>,
    ) {
        let Some(port) = self.port_of(id, from, frame) else { return };
        let radio = &self.cells[id.index()].stations[from.index()];
        if radio.arrival == Arrival::Moved {
            return;
        }
        let (node, key) = (radio.node, ParcelKey(frame.key));
        if self.wants(Interest::FATES) {
            let told = event(self.parcels[key].packet());
            let event = TraceEvent::FrameFate { link: port.link, from: node, event: told };
            tell(&mut self.observers, self.now, &event);
        }
        self.tell_agent((node, port.interface), key, event);
    }

    fn on_frame_given_up(&mut self, id: WlanId, from: StationId, frame: MacFrame, transmissions: u32) {
        let Some(port) = self.port_of(id, from, frame) else { return };
        let stations = &self.cells[id.index()].stations;
        let radio = &stations[from.index()];
        if !self.wants(Interest::FRAMES) || radio.arrival == Arrival::Moved {
            return;
        }
        let event = TraceEvent::FrameGivenUp {
            link: port.link,
            from: radio.node,
            to: stations[port.to.index()].node,
            number: radio.number,
            transmissions,
            packet: self.parcels[ParcelKey(frame.key)].packet(),
        };
        tell(&mut self.observers, self.now, &event);
    }

    /// AODV at a station's node learns that a neighbour is out of reach. What it has to say waits
    /// until the frame is done with.
    fn tell_routing(&mut self, id: WlanId, from: StationId, frame: MacFrame) {
        let Some(port) = self.port_of(id, from, frame) else { return };
        let stations = &self.cells[id.index()].stations;
        let (radio, neighbour) = (&stations[from.index()], stations[port.to.index()].node);
        let (node, arrived) = (radio.node, radio.arrival != Arrival::NotYet);
        self.on_neighbour_lost(node, neighbour, (!arrived).then_some(ParcelKey(frame.key)));
    }

    /// What still waits at a station for a neighbour out of reach looks for another way, if AODV
    /// does the looking.
    fn route_anew(&mut self, id: WlanId, from: StationId, frame: MacFrame) {
        let Some(port) = self.port_of(id, from, frame) else { return };
        let node = self.cells[id.index()].stations[from.index()].node;
        if !self.hears_of_broken_links(node) {
            return;
        }
        let passed = self.nodes[node.index()].interfaces[port.interface].agent.unwrap_or(AgentId::NONE);
        for frame in self.cells[id.index()].wlan.withdraw(from, port.to) {
            self.reroute(node, ParcelKey(frame.key), passed);
        }
        self.follow_routing(node);
    }

    /// A station is through with a frame.
    fn end_radio_frame(&mut self, id: WlanId, from: StationId, frame: MacFrame) {
        let radio = &mut self.cells[id.index()].stations[from.index()];
        radio.number = radio.number.wrapping_add(1);
        let (node, arrival) = (radio.node, std::mem::replace(&mut radio.arrival, Arrival::NotYet));
        match arrival {
            Arrival::Moved => {}
            Arrival::Copied => self.parcels.remove(ParcelKey(frame.key)),
            Arrival::NotYet if frame.to == Receiver::Broadcast => {
                self.accounts.broadcast += 1;
                self.parcels.remove(ParcelKey(frame.key));
            }
            Arrival::NotYet => self.drop_parcel(node, ParcelKey(frame.key), DropCause::WirelessLoss),
        }
        if let Some(next) = self.cells[id.index()].wlan.head(from) {
            self.left_queue(node, ParcelKey(next.key), Duration::ZERO);
        }
    }
}
