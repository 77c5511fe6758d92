//! A station of a cell, as its node sees it.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use lasthop_wifi::{MacFrame, Receiver, StationId, Used};

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
    others: Others,
}

/// How a station's MAC comes to have several frames in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hands {
    /// It has one at a time.
    One,
    /// Receivers take turns: there may be one for each, which was transmitted and not acknowledged.
    ByReceiver,
    /// Packets are aggregated.
    ByPacket,
}

/// Hands apart from the only one.
enum Others {
    None,
    /// By station.
    ByReceiver(Vec<Hand>),
    /// In the order of their departure.
    ByPacket(VecDeque<(PacketKey, Hand)>),
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

/// What is known of a frame in the hands of a station's MAC.
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
    /// The same of others for frames to it.
    pub air_time_to: Duration,
    /// The time that they were at the head of its queue before their first transmission.
    pub access: Duration,
    /// The time that it has been awake; `None` for a station that is not in power-save mode, and
    /// always awake.
    pub awake: Option<Duration>,
}

impl RadioUse {
    pub(super) fn new(used: Used, air_time_to: u64, awake: Option<Duration>) -> Self {
        let Used { frames, transmissions, given_up, air_time, access } = used;
        let [air_time, air_time_to, access] = [air_time, air_time_to, access].map(Duration::from_nanos);
        Self { frames, transmissions, given_up, air_time, air_time_to, access, awake }
    }

    /// Its use since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            frames: self.frames - earlier.frames,
            transmissions: self.transmissions - earlier.transmissions,
            given_up: self.given_up - earlier.given_up,
            air_time: self.air_time.saturating_sub(earlier.air_time),
            air_time_to: self.air_time_to.saturating_sub(earlier.air_time_to),
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
    /// It is at the receiver's MAC, and goes on once those before it have arrived.
    Held,
}

impl Radio {
    pub(super) fn new(node: NodeId, hands: Hands) -> Self {
        Self {
            node,
            ports: Vec::new(),
            first: None,
            associated: None,
            hand: Hand::default(),
            others: match hands {
                Hands::One => Others::None,
                Hands::ByReceiver => Others::ByReceiver(Vec::new()),
                Hands::ByPacket => Others::ByPacket(VecDeque::new()),
            },
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
        if let Others::ByReceiver(hands) = &mut self.others {
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

    /// The hand for a frame.
    #[inline]
    pub(super) fn hand(&self, frame: MacFrame) -> &Hand {
        match (&self.others, frame.to) {
            (Others::None, _) | (Others::ByReceiver(_), Receiver::Broadcast) => &self.hand,
            (Others::ByReceiver(hands), Receiver::Station(to)) => hands.get(to.index()).unwrap_or(&self.hand),
            (Others::ByPacket(hands), _) => {
                let its = hands.iter().find(|(key, _)| *key == PacketKey(frame.key));
                its.map_or(&self.hand, |(_, hand)| hand)
            }
        }
    }

    /// As [`Self::hand`].
    #[inline]
    pub(super) fn hand_mut(&mut self, frame: MacFrame) -> &mut Hand {
        match (&mut self.others, frame.to) {
            (Others::None, _) | (Others::ByReceiver(_), Receiver::Broadcast) => &mut self.hand,
            (Others::ByReceiver(hands), Receiver::Station(to)) => {
                hands.get_mut(to.index()).unwrap_or(&mut self.hand)
            }
            (Others::ByPacket(hands), _) => own_hand(hands, &mut self.hand, PacketKey(frame.key)),
        }
    }

    /// Whether a frame is in a hand, as far as that is known.
    #[inline]
    pub(super) fn has_in_hand(&self, frame: MacFrame) -> bool {
        match &self.others {
            Others::None | Others::ByReceiver(_) => true,
            Others::ByPacket(hands) => hands.iter().any(|(key, _)| *key == PacketKey(frame.key)),
        }
    }

    /// A frame is done with. Returns what has become of its packet.
    #[inline]
    pub(super) fn is_through_with(&mut self, frame: MacFrame) -> Arrival {
        let key = PacketKey(frame.key);
        let arrival = self.hand_mut(frame).is_through_with(key);
        if let Others::ByPacket(hands) = &mut self.others {
            let place = hands.iter().position(|(other, _)| *other == key);
            place.and_then(|place| hands.remove(place));
        }
        arrival
    }

    /// A frame that was in a hand, or waited, is taken out of the queue. Returns what has become of its packet.
    pub(super) fn withdraw(&mut self, frame: MacFrame) -> Arrival {
        if self.has_in_hand(frame) && self.hand(frame).has_departed(PacketKey(frame.key)) {
            self.is_through_with(frame)
        } else {
            Arrival::NotYet
        }
    }

    /// The hand of a station whose receivers do not take turns.
    pub(super) fn only_hand(&mut self) -> &mut Hand {
        &mut self.hand
    }

    /// How many packets of its hands are among the packets twice.
    pub(super) fn copies(&self) -> usize {
        let is_copied = |hand: &&Hand| hand.arrival == Arrival::Copied;
        let others = match &self.others {
            Others::None => 0,
            Others::ByReceiver(hands) => hands.iter().filter(is_copied).count(),
            Others::ByPacket(hands) => hands.iter().map(|(_, hand)| hand).filter(is_copied).count(),
        };
        others + usize::from(is_copied(&&self.hand))
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

    /// Its frame has arrived, whether or not that was noted. `at`: where it is if that was not noted.
    pub(super) fn has_arrived(&mut self, at: Arrival) {
        if self.arrival == Arrival::NotYet {
            self.arrival = at;
        }
    }

    /// Its frame is done with. Returns what has become of its packet.
    #[inline]
    fn is_through_with(&mut self, key: PacketKey) -> Arrival {
        self.number = self.number.wrapping_add(1);
        self.departed = self.departed.filter(|departed| *departed != key);
        std::mem::replace(&mut self.arrival, Arrival::NotYet)
    }
}

/// The hand of a packet; it is made if there is none. `last` counts the frames.
fn own_hand<'a>(hands: &'a mut VecDeque<(PacketKey, Hand)>, last: &mut Hand, key: PacketKey) -> &'a mut Hand {
    let place = hands.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
        hands.push_back((key, Hand { number: last.number, ..Hand::default() }));
        last.number = last.number.wrapping_add(1);
        hands.len() - 1
    });
    &mut hands[place].1
}
