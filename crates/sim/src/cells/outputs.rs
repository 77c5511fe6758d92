//! What comes out of a cell: frames that arrived go on as packets, fates go to agents, routing and
//! observers.

use std::time::Duration;

use lasthop_link::Flip;
use lasthop_wifi::{Fate, FrameTimes, MacFrame, Output as WlanOutput, Receiver, StationId};

use super::rest::{OF_FATES, Rest, SentFrame};
use super::station::Arrival;
use super::{Cells, Port};
use crate::accounts::DropCause;
use crate::id::WlanId;
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::technology::{Addressee, At, FrameFate, Output};
use crate::transit::Transit;

impl Cells {
    pub(super) fn on_cell_event(&mut self, id: WlanId, transit: &mut Transit) {
        let cell = &mut self.all[id.index()];
        if cell.timer.fired(transit.now()) {
            cell.go_on(transit);
            self.current = Some(id);
        }
    }

    /// All is told that came of a cell's latest event. Mostly the cell's next event is the next of
    /// all: if so, and if it may go on, it has its next event at once. Whether it has had it.
    #[inline]
    pub(crate) fn goes_on(&mut self, may: bool, transit: &mut Transit) -> bool {
        let Some(id) = self.current else { return false };
        let cell = &mut self.all[id.index()];
        let goes_on = may && cell.wlan.next_event_at().is_some_and(|at| at < transit.horizon());
        if goes_on {
            cell.timer.forestall();
            cell.go_on(transit);
        } else {
            cell.follow(id, transit);
            self.current = None;
        }
        goes_on
    }

    /// What comes of a cell's latest event next.
    pub(super) fn next_output(&mut self, id: WlanId, transit: &mut Transit) -> Option<Output> {
        loop {
            let output = if let Some((rest, sent)) = self.rest {
                self.go_on(id, rest, sent, transit)
            } else if self.all[id.index()].wlan.has_output() {
                self.pass_on(id, transit)
            } else {
                return None;
            };
            if output.is_some() {
                return output;
            }
        }
    }

    #[inline]
    fn pass_on(&mut self, id: WlanId, transit: &mut Transit) -> Option<Output> {
        match *self.all[id.index()].wlan.next_output()? {
            WlanOutput::Delivered { at, from, frame } => self.deliver(id, (from, at), frame, transit),
            other => self.pass_on_other(id, other, transit),
        }
    }

    #[inline(never)]
    fn pass_on_other(&mut self, id: WlanId, output: WlanOutput, transit: &mut Transit) -> Option<Output> {
        match output {
            WlanOutput::Delivered { at, from, frame } => self.deliver(id, (from, at), frame, transit),
            WlanOutput::Departs { from } => self.depart_next(id, from, transit),
            WlanOutput::ChannelState { between, at, good } => {
                self.report_channel(id, between, Flip { at, good }, transit);
                None
            }
            WlanOutput::TooOld { from, frame } => {
                let at = self.port_of(id, from, frame)?.at;
                Some(Output::TooOld { at, key: PacketKey(frame.key), cause: DropCause::PowerSave })
            }
            WlanOutput::Transmission { from, frame, has_options, times } => {
                let (at, key) = self.told(id, from, frame)?;
                if !has_options && transit.packet(key).link_options().is_some() {
                    transit.packets_mut().edit(key, |packet| packet.set_link_options(None));
                }
                Some(Output::Transmission { at, key, times: agents_times(times) })
            }
            WlanOutput::Attempt { from, frame, began, transmission, lost, acknowledged } => {
                self.trace_attempt(id, from, frame, transmission, (lost, acknowledged), transit);
                let (at, key) = self.told(id, from, frame)?;
                Some(Output::Attempt { at, key, transmission, began, is_confirmed: acknowledged })
            }
            WlanOutput::Fate { from, frame, fate, arrived, transmissions, queueing, access, air_time } => {
                let sent = SentFrame { from, frame, fate, transmissions };
                let hand = self.all[id.index()].stations[from.index()].hand_mut(frame.to);
                if arrived {
                    hand.has_arrived();
                }
                match fate {
                    Fate::FirstTransmissionFailed => {}
                    Fate::GivenUp => self.rest = Some((Rest::GivenUp, sent)),
                    Fate::Delivered => {
                        if hand.arrival() == Arrival::Moved {
                            // What most frames come to, on a way of its own.
                            self.end(id, sent, transit);
                            return self.depart_next(id, from, transit);
                        }
                        self.rest = Some((Rest::Ended, sent));
                    }
                }
                let (at, key) = self.told(id, from, frame)?;
                let link = self.port_of(id, from, frame)?.link;
                let [queueing, access, air_time] = [queueing, access, air_time].map(Duration::from_nanos);
                let fate = agents_fate(fate);
                let fate = FrameFate { fate, transmissions, queueing, access: Some(access), air_time };
                Some(Output::Fate { at, link, key, fate })
            }
        }
    }

    #[inline(never)]
    fn go_on(&mut self, id: WlanId, rest: Rest, sent: SentFrame, transit: &mut Transit) -> Option<Output> {
        let (next, output) = match rest {
            Rest::GivenUp => (Some(Rest::Ended), self.give_up(id, sent, transit)),
            Rest::Ended => (Some(Rest::Next), self.end(id, sent, transit)),
            Rest::Next => (
                (sent.fate == Fate::GivenUp).then_some(Rest::Broken),
                self.depart_next(id, sent.from, transit),
            ),
            Rest::Broken => {
                let port = self.port_of(id, sent.from, sent.frame);
                (None, port.map(|port| Output::LinkBroken { at: port.at }))
            }
        };
        self.rest = next.map(|rest| (rest, sent));
        output
    }

    #[inline]
    fn deliver(
        &mut self,
        id: WlanId,
        (from, at): (StationId, StationId),
        frame: MacFrame,
        transit: &mut Transit,
    ) -> Option<Output> {
        let mut key = PacketKey(frame.key);
        let back = self.port(id, at, from);
        if frame.to == Receiver::Broadcast {
            return Some(Output::Heard { node: self.node(id, at), link: back.map(|back| back.link), key });
        }
        let Port { link, at: receiver, is_watched: is_understood, delay, .. } = *back?;
        if self.all[id.index()].wlan.reports_fates() {
            let is_wanted = self.port(id, from, at)?.is_watched || transit.wants(OF_FATES);
            let sender = &mut self.all[id.index()].stations[from.index()];
            let arrival = if is_wanted { Arrival::Copied } else { Arrival::Moved };
            sender.hand_mut(frame.to).set_arrival(arrival);
            if is_wanted && let Some(copy) = transit.packets_mut().copy(key) {
                key = copy;
            }
        }
        if !is_understood && self.all[id.index()].wlan.reports_transmissions() {
            transit.packets_mut().edit(key, |packet| packet.set_link_options(None));
        }
        if !delay.is_zero() {
            let back = self.all[id.index()].stations[at.index()].port(from)?;
            self.delayed.push(back, key);
            transit.schedule(transit.now() + delay, Event::RadioArrival(back));
            return None;
        }
        Some(Output::Arrived { at: receiver, link, key })
    }

    /// Whom to tell of a frame, and its packet if it is still there. A broadcast is on no link, and
    /// has no confirmation.
    fn told(&self, id: WlanId, from: StationId, frame: MacFrame) -> Option<(At, PacketKey)> {
        let port = self.port_of(id, from, frame)?;
        let is_here = self.all[id.index()].stations[from.index()].hand(frame.to).arrival() != Arrival::Moved;
        is_here.then_some((port.at, PacketKey(frame.key)))
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
        let (link, number) = (port.link, self.all[id.index()].stations[from.index()].hand(frame.to).number());
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

    fn give_up(&self, id: WlanId, sent: SentFrame, transit: &mut Transit) -> Option<Output> {
        let SentFrame { from, frame, transmissions, .. } = sent;
        let port = self.port_of(id, from, frame)?;
        let (node, to) = (port.at.0, self.node(id, port.to));
        let hand = self.all[id.index()].stations[from.index()].hand(frame.to);
        if let Some((_, key)) = self.told(id, from, frame) {
            transit.trace(Interest::FRAMES, key, |packet| TraceEvent::FrameGivenUp {
                link: port.link,
                from: node,
                to,
                number: hand.number(),
                transmissions,
                packet,
            });
        }
        let key = (hand.arrival() == Arrival::NotYet).then_some(PacketKey(frame.key));
        Some(Output::NeighbourLost { node, neighbour: to, key })
    }

    fn end(&mut self, id: WlanId, sent: SentFrame, transit: &mut Transit) -> Option<Output> {
        let SentFrame { from, frame, .. } = sent;
        let link = self.port_of(id, from, frame).map(|port| port.link);
        self.packet_ends(id, from, frame, transit);
        let radio = &mut self.all[id.index()].stations[from.index()];
        let key = PacketKey(frame.key);
        match radio.hand_mut(frame.to).is_through_with(key) {
            Arrival::Moved => {}
            Arrival::Copied => transit.packets_mut().remove(key),
            Arrival::NotYet if frame.to == Receiver::Broadcast => {
                transit.accounts_mut().broadcast += 1;
                transit.packets_mut().remove(key);
            }
            Arrival::NotYet => {
                return Some(Output::Lost { node: radio.node(), link, key, cause: DropCause::WirelessLoss });
            }
        }
        None
    }

    /// The next frame leaves the queue, unless it did on its arrival there: a packet that an agent
    /// sent on hearing of the last one's fate.
    #[inline]
    fn depart_next(&mut self, id: WlanId, from: StationId, transit: &mut Transit) -> Option<Output> {
        let Self { all, ports, .. } = self;
        let cell = &mut all[id.index()];
        let (frame, radio) = (cell.wlan.head(from)?, &mut cell.stations[from.index()]);
        let key = PacketKey(frame.key);
        if !radio.hand_mut(frame.to).depart(key) {
            return None;
        }
        let (port, to) = match frame.to {
            Receiver::Station(to) => (radio.port(to)?, Addressee::Peer),
            Receiver::Broadcast => (radio.first_port()?, Addressee::Everyone),
        };
        let at = ports[port.index()].at;
        self.packet_begins(id, from, frame, transit);
        Some(Output::Departs { at, to, key, time: Duration::ZERO })
    }
}

/// A frame's fate as agents receive it.
const fn agents_fate(fate: Fate) -> lasthop_agent::Fate {
    match fate {
        Fate::Delivered => lasthop_agent::Fate::Delivered,
        Fate::FirstTransmissionFailed => lasthop_agent::Fate::FirstTransmissionFailed,
        Fate::GivenUp => lasthop_agent::Fate::GivenUp,
    }
}

/// A data frame's times as agents receive them.
const fn agents_times(FrameTimes { queued, departed, began, over }: FrameTimes) -> lasthop_agent::FrameTimes {
    lasthop_agent::FrameTimes { queued, departed, began, over }
}
