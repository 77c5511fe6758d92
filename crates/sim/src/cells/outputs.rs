//! What comes out of a cell: frames that arrived go on as packets, fates go to agents, routing and
//! observers.

use std::time::Duration;

use lasthop_agent::Fate;

use super::Cells;
use super::station::Arrival;
use crate::accounts::DropCause;
use crate::id::{StationId, WlanId};
use crate::observe::{Interest, TraceEvent};
use crate::parcel::ParcelKey;
use crate::technology::{At, FrameFate, Output};
use crate::transit::Transit;
use crate::wifi::{MacFrame, Output as WlanOutput, Receiver};

/// A part of what an event leads to. Between two of them the world carries out what came of the
/// first.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Take(WlanId, WlanOutput),
    GiveUp {
        cell: WlanId,
        from: StationId,
        frame: MacFrame,
        transmissions: u32,
    },
    /// A station is through with a frame.
    End {
        cell: WlanId,
        from: StationId,
        frame: MacFrame,
    },
    /// The next frame of a station is at the head of its queue.
    Next(WlanId, StationId),
    Break {
        cell: WlanId,
        from: StationId,
        frame: MacFrame,
    },
    /// All is done: follows the time of the cell's next event.
    Follow(WlanId),
}

impl Cells {
    pub(super) fn on_cell_event(&mut self, id: WlanId, transit: &mut Transit) {
        let cell = &mut self.cells[id.index()];
        if !cell.timer.fired(transit.now) {
            return;
        }
        cell.wlan.on_event(transit.now);
        let mut outputs = cell.wlan.take_outputs();
        if !outputs.is_empty() {
            self.count(id, transit);
        }
        self.steps.extend(outputs.drain(..).map(|output| Step::Take(id, output)));
        self.cells[id.index()].wlan.give_back(outputs);
        self.steps.push_back(Step::Follow(id));
    }

    fn count(&mut self, id: WlanId, transit: &mut Transit) {
        let cell = &mut self.cells[id.index()];
        let now = *cell.wlan.counters();
        let before = std::mem::replace(&mut cell.counted, now);
        let counters = &mut transit.telemetry.counters;
        counters.frames_sent += now.attempts - before.attempts;
        counters.frames_lost += (now.failures - now.acks_lost) - (before.failures - before.acks_lost);
        counters.frames_given_up += now.given_up - before.given_up;
        counters.link_acks_lost += now.acks_lost - before.acks_lost;
        counters.duplicate_frames += now.duplicates - before.duplicates;
    }

    pub(super) fn take_step(&mut self, step: Step, transit: &mut Transit) -> Option<Output> {
        match step {
            Step::Take(id, output) => self.take_output(id, output, transit),
            Step::GiveUp { cell, from, frame, transmissions } => {
                self.give_up(cell, from, frame, transmissions, transit)
            }
            Step::End { cell, from, frame } => self.end(cell, from, frame, transit),
            Step::Next(id, from) => self.next(id, from),
            Step::Break { cell, from, frame } => {
                Some(Output::LinkBroken { at: self.port_of(cell, from, frame)?.at })
            }
            Step::Follow(id) => {
                self.cells[id.index()].follow(id, transit);
                None
            }
        }
    }

    fn take_output(&mut self, id: WlanId, output: WlanOutput, transit: &mut Transit) -> Option<Output> {
        match output {
            WlanOutput::Delivered { at, from, frame } => self.deliver(id, (from, at), frame, transit),
            WlanOutput::Attempt { from, frame, began, transmission, lost, acknowledged } => {
                self.trace_attempt(id, from, frame, transmission, (lost, acknowledged), transit);
                let (at, key) = self.told(id, from, frame)?;
                Some(Output::Attempt { at, key, transmission, began, is_confirmed: acknowledged })
            }
            WlanOutput::Fate { from, frame, fate, transmissions, queueing, access, air_time } => {
                let [queueing, access, air_time] = [queueing, access, air_time].map(Duration::from_nanos);
                // In front of what other outputs lead to, the last first.
                let cell = id;
                if fate == Fate::GivenUp {
                    self.steps.push_front(Step::Break { cell, from, frame });
                }
                if fate != Fate::FirstTransmissionFailed {
                    self.steps.push_front(Step::End { cell, from, frame });
                    let used = &mut self.cells[id.index()].stations[from.index()].used;
                    used.frames += 1;
                    used.transmissions += u64::from(transmissions);
                    used.given_up += u64::from(fate == Fate::GivenUp);
                    used.air_time += air_time;
                    used.access += access;
                }
                if fate == Fate::GivenUp {
                    self.steps.push_front(Step::GiveUp { cell, from, frame, transmissions });
                }
                let (at, key) = self.told(id, from, frame)?;
                let link = self.port_of(id, from, frame)?.link;
                let fate = FrameFate { fate, transmissions, queueing, access: Some(access), air_time };
                Some(Output::Fate { at, link, key, fate })
            }
        }
    }

    fn deliver(
        &mut self,
        id: WlanId,
        (from, at): (StationId, StationId),
        frame: MacFrame,
        transit: &mut Transit,
    ) -> Option<Output> {
        let mut key = ParcelKey(frame.key);
        let back = self.port(id, at, from);
        if frame.to == Receiver::Broadcast {
            return Some(Output::Heard { node: self.node(id, at), link: back.map(|back| back.link), key });
        }
        let (port, back) = (self.port(id, from, at)?, back?);
        let is_wanted = port.is_watched || transit.wants(Interest::FATES | Interest::FRAMES);
        let sender = &mut self.cells[id.index()].stations[from.index()];
        sender.arrival = if is_wanted { Arrival::Copied } else { Arrival::Moved };
        if is_wanted && let Some(copy) = transit.parcels.copy(key) {
            key = copy;
        }
        Some(Output::Arrived { at: back.at, link: back.link, key })
    }

    /// Whom to tell of a frame, and its parcel if it is still there. A broadcast is on no link, and
    /// has no confirmation.
    fn told(&self, id: WlanId, from: StationId, frame: MacFrame) -> Option<(At, ParcelKey)> {
        let port = self.port_of(id, from, frame)?;
        let is_here = self.cells[id.index()].stations[from.index()].arrival != Arrival::Moved;
        is_here.then_some((port.at, ParcelKey(frame.key)))
    }

    fn trace_attempt(
        &self,
        id: WlanId,
        from: StationId,
        frame: MacFrame,
        transmission: u32,
        (lost, acknowledged): (bool, bool),
        transit: &mut Transit,
    ) {
        let Some(port) = self.port_of(id, from, frame) else { return };
        let (node, to) = (port.at.0, self.node(id, port.to));
        let (link, number) = (port.link, self.cells[id.index()].stations[from.index()].number);
        if let Some((_, key)) = self.told(id, from, frame) {
            transit.trace(Interest::FRAMES, key, |packet| TraceEvent::Frame {
                link,
                from: node,
                to,
                number,
                transmission,
                packet,
                lost,
            });
        }
        if !lost && !acknowledged {
            transit.emit(&TraceEvent::LinkAckLost { link, from: to, number });
        }
    }

    /// A neighbour may be out of reach.
    fn give_up(
        &self,
        id: WlanId,
        from: StationId,
        frame: MacFrame,
        transmissions: u32,
        transit: &mut Transit,
    ) -> Option<Output> {
        let port = self.port_of(id, from, frame)?;
        let (node, to) = (port.at.0, self.node(id, port.to));
        let radio = &self.cells[id.index()].stations[from.index()];
        if let Some((_, key)) = self.told(id, from, frame) {
            transit.trace(Interest::FRAMES, key, |packet| TraceEvent::FrameGivenUp {
                link: port.link,
                from: node,
                to,
                number: radio.number,
                transmissions,
                packet,
            });
        }
        let key = (radio.arrival == Arrival::NotYet).then_some(ParcelKey(frame.key));
        Some(Output::NeighbourLost { node, neighbour: to, key })
    }

    fn end(&mut self, id: WlanId, from: StationId, frame: MacFrame, transit: &mut Transit) -> Option<Output> {
        self.steps.push_front(Step::Next(id, from));
        let radio = &mut self.cells[id.index()].stations[from.index()];
        radio.number = radio.number.wrapping_add(1);
        let key = ParcelKey(frame.key);
        match std::mem::replace(&mut radio.arrival, Arrival::NotYet) {
            Arrival::Moved => {}
            Arrival::Copied => transit.parcels.remove(key),
            Arrival::NotYet if frame.to == Receiver::Broadcast => {
                transit.telemetry.accounts.broadcast += 1;
                transit.parcels.remove(key);
            }
            Arrival::NotYet => {
                return Some(Output::Lost { node: radio.node, key, cause: DropCause::WirelessLoss });
            }
        }
        None
    }

    fn next(&self, id: WlanId, from: StationId) -> Option<Output> {
        let cell = &self.cells[id.index()];
        let frame = cell.wlan.head(from)?;
        Some(Output::Departs {
            node: cell.stations[from.index()].node,
            interface: self.port_of(id, from, frame).map(|port| port.at.1),
            key: ParcelKey(frame.key),
            time: Duration::ZERO,
        })
    }
}
