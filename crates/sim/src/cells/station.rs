//! A station of a cell, as its node sees it.

use std::time::Duration;

use crate::id::{NodeId, PortId, StationId};
use crate::parcel::ParcelKey;

pub(super) struct Radio {
    pub(super) node: NodeId,
    /// The port towards each other station, if there is a link.
    ports: Vec<Option<PortId>>,
    pub(super) first_port: Option<PortId>,
    /// The number of the frame at the head of its queue.
    pub(super) number: u32,
    pub(super) arrival: Arrival,
    /// The frame that went from the queue to the MAC last, as far as the world knows: while fates
    /// are told the MAC may have the next one already.
    pub(super) departed: Option<ParcelKey>,
    used: Used,
}

/// [`RadioUse`] as it is added up: times in nanoseconds.
#[derive(Default)]
struct Used {
    frames: u64,
    transmissions: u64,
    given_up: u64,
    air_time: u64,
    access: u64,
}

/// What a station has had of the air so far.
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

/// What has become of the packet at the head of a station's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    NotYet,
    /// It has gone on.
    Moved,
    /// A copy has gone on.
    Copied,
}

impl Radio {
    pub(super) fn new(node: NodeId) -> Self {
        Self {
            node,
            ports: Vec::new(),
            first_port: None,
            number: 0,
            arrival: Arrival::NotYet,
            departed: None,
            used: Used::default(),
        }
    }

    pub(super) fn add_port(&mut self, to: StationId, port: PortId) {
        self.first_port.get_or_insert(port);
        if self.ports.len() <= to.index() {
            self.ports.resize(to.index() + 1, None);
        }
        self.ports[to.index()] = Some(port);
    }

    pub(super) fn port(&self, to: StationId) -> Option<PortId> {
        self.ports.get(to.index()).copied().flatten()
    }

    /// The last fate of a frame is known; times in nanoseconds.
    #[inline]
    pub(super) fn note_end(&mut self, is_given_up: bool, transmissions: u32, access: u64, air_time: u64) {
        self.used.frames += 1;
        self.used.transmissions += u64::from(transmissions);
        self.used.given_up += u64::from(is_given_up);
        self.used.access += access;
        self.used.air_time += air_time;
    }

    /// The frame at the head of its queue is done with. Returns what has become of its packet.
    #[inline]
    pub(super) fn is_through_with(&mut self, key: ParcelKey) -> Arrival {
        self.number = self.number.wrapping_add(1);
        self.departed = self.departed.filter(|departed| *departed != key);
        std::mem::replace(&mut self.arrival, Arrival::NotYet)
    }

    pub(super) const fn used(&self) -> RadioUse {
        let Used { frames, transmissions, given_up, air_time, access } = self.used;
        let (air_time, access) = (Duration::from_nanos(air_time), Duration::from_nanos(access));
        RadioUse { frames, transmissions, given_up, air_time, access, awake: None }
    }

    /// Whether the packet at the head of its queue is among the parcels twice.
    pub(super) fn has_copy(&self) -> bool {
        self.arrival == Arrival::Copied
    }
}
