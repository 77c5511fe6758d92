//! A station of a cell, as its node sees it.

use std::collections::BTreeSet;
use std::time::Duration;

use lasthop_wifi::{Receiver, StationId, Used};

use crate::id::{At, LinkId, NodeId, PortId};
use crate::packets::PacketKey;

pub(super) struct Radio {
    node: NodeId,
    /// The port towards each other station, if there is a link.
    ports: Vec<Option<Port>>,
    /// The station that the port leads to which was added first.
    first: Option<StationId>,
    /// The stations that it exchanges data with, if it is one of an extended service set: the access point that a
    /// client is associated with, or an access point's clients.
    associated: Option<BTreeSet<StationId>>,
    hand: Hand,
    /// Where receivers take turns, each has a hand of its own; by station.
    hands: Option<Vec<Hand>>,
}

/// One direction of a link, at the station where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub(super) id: PortId,
    pub(super) link: LinkId,
    /// The interface that leads to it.
    pub(super) at: At,
    /// Whether an agent watches that interface.
    pub(super) is_watched: bool,
    /// The delay of what has come through the link, before it reaches the node at the other end.
    pub(super) delay: Duration,
}

/// What is known of the frame in the hands of a station's MAC. Where receivers take turns, there may be
/// one for each: frames that were transmitted and not acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hand {
    /// The number of the frame.
    number: u32,
    arrival: Arrival,
    /// The frame that went from the queue to the MAC last, as far as the world knows: while fates
    /// are told the MAC may have the next one already.
    departed: Option<PacketKey>,
}

/// A station's use of the air so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioUse {
    /// Frames whose last fate it knows: delivered, or given up.
    pub frames: u64,
    /// Their transmissions.
    pub transmissions: u64,
    /// Of the frames, those that were given up.
    pub given_up: u64,
    /// The time that it transmitted for them: data frames, RTS and CTS-to-self, those that failed
    /// among them. Others' CTS and ACK, and the spaces between frames, are not in it.
    pub air_time: Duration,
    /// The time that they were at the head of its queue before their first transmission.
    pub access: Duration,
    /// The time that it has been awake; `None` for a station that is not in power-save mode, and
    /// always awake.
    pub awake: Option<Duration>,
}

impl RadioUse {
    pub(super) fn new(used: Used, awake: Option<Duration>) -> Self {
        let Used { frames, transmissions, given_up, air_time, access } = used;
        let [air_time, access] = [air_time, access].map(Duration::from_nanos);
        Self { frames, transmissions, given_up, air_time, access, awake }
    }

    /// Its use since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            frames: self.frames - earlier.frames,
            transmissions: self.transmissions - earlier.transmissions,
            given_up: self.given_up - earlier.given_up,
            air_time: self.air_time.saturating_sub(earlier.air_time),
            access: self.access.saturating_sub(earlier.access),
            awake: self.awake.map(|awake| awake.saturating_sub(earlier.awake.unwrap_or_default())),
        }
    }
}

/// The fate of the packet in a hand so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Arrival {
    #[default]
    NotYet,
    /// It has gone on.
    Moved,
    /// A copy has gone on.
    Copied,
}

impl Radio {
    pub(super) fn new(node: NodeId, has_turns: bool) -> Self {
        Self {
            node,
            ports: Vec::new(),
            first: None,
            associated: None,
            hand: Hand::default(),
            hands: has_turns.then(Vec::new),
        }
    }

    pub(super) const fn node(&self) -> NodeId {
        self.node
    }

    pub(super) fn add_port(&mut self, to: StationId, port: Port) {
        self.first.get_or_insert(to);
        if self.ports.len() <= to.index() {
            self.ports.resize(to.index() + 1, None);
        }
        self.ports[to.index()] = Some(port);
        if let Some(hands) = &mut self.hands {
            hands.resize(self.ports.len(), Hand::default());
        }
    }

    #[inline]
    pub(super) fn port(&self, to: StationId) -> Option<&Port> {
        self.ports.get(to.index())?.as_ref()
    }

    /// Whether the station of a port is one of those that it exchanges data with.
    #[inline]
    pub(super) fn takes_from(&self, from: StationId) -> bool {
        self.associated.as_ref().is_none_or(|associated| associated.contains(&from))
    }

    /// Exchanges data only with stations with which it is associated.
    pub(super) fn needs_association(&mut self) {
        self.associated.get_or_insert_default();
    }

    /// See [`Self::needs_association`].
    pub(super) fn associate(&mut self, with: StationId, is_associated: bool) {
        let associated = self.associated.get_or_insert_default();
        if is_associated {
            associated.insert(with);
        } else {
            associated.remove(&with);
        }
    }

    /// The port that was added first, which stands for the station's queue.
    pub(super) fn first_port(&self) -> Option<&Port> {
        self.port(self.first?)
    }

    /// An agent watches the interface of a port from now on.
    pub(super) fn watch(&mut self, to: StationId) {
        if let Some(Some(port)) = self.ports.get_mut(to.index()) {
            port.is_watched = true;
        }
    }

    /// The hand for a receiver.
    #[inline]
    pub(super) fn hand(&self, to: Receiver) -> &Hand {
        match (&self.hands, to) {
            (None, _) | (Some(_), Receiver::Broadcast) => &self.hand,
            (Some(hands), Receiver::Station(to)) => hands.get(to.index()).unwrap_or(&self.hand),
        }
    }

    /// As [`Self::hand`].
    #[inline]
    pub(super) fn hand_mut(&mut self, to: Receiver) -> &mut Hand {
        match (&mut self.hands, to) {
            (None, _) | (Some(_), Receiver::Broadcast) => &mut self.hand,
            (Some(hands), Receiver::Station(to)) => hands.get_mut(to.index()).unwrap_or(&mut self.hand),
        }
    }

    /// The hand of a station whose receivers do not take turns.
    pub(super) fn only_hand(&mut self) -> &mut Hand {
        &mut self.hand
    }

    /// How many packets of its hands are among the packets twice.
    pub(super) fn copies(&self) -> usize {
        let others = self.hands.iter().flatten();
        others.chain([&self.hand]).filter(|hand| hand.arrival == Arrival::Copied).count()
    }
}

impl Hand {
    /// The number of its frame.
    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    /// What has become of the packet in it.
    pub(super) const fn arrival(&self) -> Arrival {
        self.arrival
    }

    pub(super) const fn set_arrival(&mut self, arrival: Arrival) {
        self.arrival = arrival;
    }

    /// Whether the world knows that this frame has gone from the queue to the MAC.
    pub(super) fn has_departed(&self, key: PacketKey) -> bool {
        self.departed == Some(key)
    }

    /// A frame goes from the queue to the MAC. Whether the world has not known it.
    pub(super) fn depart(&mut self, key: PacketKey) -> bool {
        self.departed.replace(key) != Some(key)
    }

    /// Brings it to the present, where it was not kept there: with the frames so far, and the one at the head of
    /// the queue.
    pub(super) fn catch_up(&mut self, frames: u64, head: Option<PacketKey>) {
        self.number = frames as u32;
        self.departed = head;
    }

    /// Its frame has arrived, whether or not that was noted.
    pub(super) fn has_arrived(&mut self) {
        if self.arrival == Arrival::NotYet {
            self.arrival = Arrival::Moved;
        }
    }

    /// A frame that was in it, or waited, is taken out of the queue. Returns what has become of its packet.
    pub(super) fn withdraw(&mut self, key: PacketKey) -> Arrival {
        if self.departed == Some(key) { self.is_through_with(key) } else { Arrival::NotYet }
    }

    /// Its frame is done with. Returns what has become of its packet.
    #[inline]
    pub(super) fn is_through_with(&mut self, key: PacketKey) -> Arrival {
        self.number = self.number.wrapping_add(1);
        self.departed = self.departed.filter(|departed| *departed != key);
        std::mem::replace(&mut self.arrival, Arrival::NotYet)
    }
}
