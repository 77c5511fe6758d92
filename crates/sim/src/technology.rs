//! The trait of link technologies, which take packets out of a node, and the values that pass between a
//! technology and the world.
//!
//! A technology has all the links of its kind. It knows each direction of a link as a *port* by its
//! number, in the order of addition. It is a state machine: the world puts packets in
//! ([`Technology::enqueue`]), hands over the events that it has scheduled
//! ([`Technology::on_event`]), and carries out what comes of them ([`Technology::poll`]).

use std::time::Duration;

use lasthop_agent::{Fate, FrameTimes, LinkEvent, LinkSenses};
use lasthop_packet::{Instant, Packet};
use lasthop_wifi::{Channel, Rate, StationId};

use crate::accounts::DropCause;
use crate::change::{Change, ChangeError};
use crate::counters::Counters;
use crate::id::{At, HopId, LinkId, ManagedPipeId, NodeId, PipeId, PortId, WlanId};
use crate::observe::Interest;
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::transit::Transit;

/// One direction of a link: the interface where it begins, and the one where it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkEnds {
    pub(crate) link: LinkId,
    pub(crate) from: At,
    pub(crate) to: At,
}

/// One direction of a link, at the node where it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Egress {
    /// Of a wired link with a plain queue.
    Pipe(PipeId),
    /// Of a wired link with a managed queue.
    ManagedPipe(ManagedPipeId),
    /// Of a wireless link of the 1997 thesis.
    Hop(HopId),
    /// Of a link in an 802.11 cell.
    Radio(PortId),
}

pub(crate) trait Technology {
    /// A packet goes into a port's queue.
    fn enqueue(&mut self, port: usize, to: Addressee, key: PacketKey, transit: &mut Transit) -> Admission;

    /// A packet that was dropped from a port's queue when [`Admission::Displaces`] was the answer,
    /// and why; each is reported once.
    fn next_displaced(&mut self, _port: usize) -> Option<(PacketKey, DropCause)> {
        None
    }

    /// A packet for which [`Admission::Starts`] was the answer goes on the air.
    fn start(&mut self, _port: usize, _transit: &mut Transit) {}

    /// An event that was scheduled here is due. [`Self::poll`] returns its outputs.
    fn on_event(&mut self, _event: Event, _transit: &mut Transit) {}

    /// The next output of the latest event. Each is carried out before the next call; what agents send
    /// meanwhile is put into queues, which leads to no outputs.
    fn poll(&mut self, _transit: &mut Transit) -> Option<Output> {
        None
    }

    /// Puts options of this many octets into the frame of a packet that has just left a port's queue.
    /// `false` if it goes without.
    fn attach_options(&mut self, _port: usize, _key: PacketKey, _octets: u16, _now: Instant) -> bool {
        false
    }

    /// Whether a packet that is sent now would have to wait for its transmission.
    fn would_wait(&self, port: usize, now: Instant) -> bool;

    /// Packets and octets that wait in a port's queue.
    fn queue(&mut self, port: usize, now: Instant) -> (usize, u64);

    /// Of the ports that share a port's queue, the first; the port itself if its queue is its own.
    fn queue_of(&self, port: usize) -> usize {
        port
    }

    /// Whether a broadcast of the node leaves by this port.
    fn broadcasts(&self, _port: usize) -> bool {
        false
    }

    /// Takes the packets out of a port's queue, because its receiver is out of reach.
    fn withdraw(&mut self, _port: usize, _transit: &mut Transit) -> Vec<PacketKey> {
        Vec::new()
    }

    /// From now on an agent watches the interface of a port, and needs these senses.
    fn watch(&mut self, _port: usize, _needs: LinkSenses) {}

    /// Whether frames that come to the station of a port are refused from now on.
    fn refuse_frames(&mut self, _port: usize, _refuse: bool) {}

    /// From now on observers have these interests.
    fn observe(&mut self, _interests: Interest) {}

    /// Brings to the present what is only computed when it is looked at, so that the trace of it is
    /// complete.
    fn catch_up(&mut self, _transit: &mut Transit) {}

    /// Its counters.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// Packets that queues marked (RFC 3168); `None` without a queue that could.
    fn marked(&self) -> Option<u64> {
        None
    }

    /// Packets that are copies of a packet which is counted elsewhere.
    fn doubled(&self) -> usize {
        0
    }

    /// Whether a port can be changed so. No other change makes this one impossible.
    fn can_change(&self, port: usize, change: &Change) -> Result<(), ChangeError>;

    /// Changes a port, if that [can be](Self::can_change).
    fn change(&mut self, port: usize, change: &Change, transit: &mut Transit);
}

/// For whom a packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressee {
    /// The node at the other end.
    Peer,
    /// Every station that hears the transmission ([`Technology::broadcasts`]).
    Everyone,
}

/// The fate of a packet that is put into a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It waits, or is on its way.
    Queued,
    /// It has left the queue and contends for the air.
    Departs,
    /// It has left the queue and goes on the air for this time: when the world has reported it to
    /// agents and observers, it calls [`Technology::start`].
    Starts(Duration),
    /// It waits, but there was too little room: [`Technology::next_displaced`] returns the packets
    /// that were dropped. It may be one of them.
    Displaces,
    /// It is dropped.
    Dropped(DropCause),
}

/// Something that came of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    /// A packet has reached the other end of a link.
    Arrived { at: At, link: LinkId, key: PacketKey },
    /// Something has happened at a station that sends frames of its own.
    Station(WlanId, StationEvent),
    /// A station has heard a broadcast; `link` is the one between it and the sender, if there is
    /// one.
    Heard { node: NodeId, link: Option<LinkId>, key: PacketKey },
    /// A packet has left the queue and goes on the air, for this time; zero where that is not known
    /// yet.
    Departs { at: At, to: Addressee, key: PacketKey, time: Duration },
    /// A data frame is about to reach the other end of a link: its times.
    Transmission { at: At, key: PacketKey, times: FrameTimes },
    /// The sender has learned what became of one transmission of a frame.
    Attempt { at: At, key: PacketKey, transmission: u32, began: Instant, is_confirmed: bool },
    /// The sender has learned more of a frame's fate.
    Fate { at: At, link: LinkId, key: PacketKey, fate: FrameFate },
    /// A frame to a neighbour was given up; with the packet in it, if that did not arrive.
    NeighbourLost { node: NodeId, neighbour: NodeId, key: Option<PacketKey> },
    /// The frame that was given up is done with. What waits for the same neighbour could look for
    /// another way.
    LinkBroken { at: At },
    /// A packet is dropped from a queue in which it has waited.
    Dropped { node: NodeId, link: LinkId, key: PacketKey, cause: DropCause },
    /// A packet is dropped from a queue in which it has waited, and nothing else happens there.
    TooOld { at: At, key: PacketKey, cause: DropCause },
    /// A packet is lost on a link.
    Lost { node: NodeId, link: Option<LinkId>, key: PacketKey, cause: DropCause },
}

/// What happens at a station of an extended service set, or at a radio.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StationEvent {
    /// A packet has reached a station that is not associated with its sender.
    NotAssociated { at: StationId, from: StationId, key: PacketKey },
    /// A station has received a raw frame, with this power in watts; `None` where the propagation has no powers.
    Frame { at: StationId, from: StationId, key: u32, rate: Rate, power: Option<f64> },
    /// A station has sent a raw frame, or given it up.
    Sent { from: StationId, key: u32, sent: Sent },
    /// A station's radio has changed its channel; `None`: it is off the air.
    Tuned { station: StationId, channel: Option<Channel> },
}

/// What became of a raw frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Whether it was acknowledged. A broadcast needs no acknowledgment, and counts as if it had one.
    pub acknowledged: bool,
    /// How often it was transmitted.
    pub transmissions: u32,
    /// Nanoseconds for which its sender has transmitted for it.
    pub air_time: u64,
}

/// The content of a [`LinkEvent::Frame`] about a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameFate {
    pub(crate) fate: Fate,
    pub(crate) transmissions: u32,
    pub(crate) queueing: Duration,
    pub(crate) access: Option<Duration>,
    pub(crate) air_time: Duration,
}

impl FrameFate {
    pub(crate) const fn event(self, packet: &Packet) -> LinkEvent<'_> {
        let Self { fate, transmissions, queueing, access, air_time } = self;
        LinkEvent::Frame { packet, fate, transmissions, queueing, access, air_time }
    }
}
