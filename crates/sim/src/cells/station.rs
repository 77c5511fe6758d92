//! A station of a cell, as its node sees it.

use std::time::Duration;

use crate::id::{NodeId, PortId, StationId};

pub(super) struct Radio {
    pub(super) node: NodeId,
    /// The port towards each other station, if there is a link.
    ports: Vec<Option<PortId>>,
    /// The number of the frame at the head of its queue.
    pub(super) number: u32,
    pub(super) arrival: Arrival,
    pub(super) used: RadioUse,
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
    pub(super) const fn new(node: NodeId) -> Self {
        Self {
            node,
            ports: Vec::new(),
            number: 0,
            arrival: Arrival::NotYet,
            used: RadioUse {
                frames: 0,
                transmissions: 0,
                given_up: 0,
                air_time: Duration::ZERO,
                access: Duration::ZERO,
            },
        }
    }

    /// Adds the port towards a station; whether it is the first of all.
    pub(super) fn add_port(&mut self, to: StationId, port: PortId) -> bool {
        let is_first = self.ports.is_empty();
        if self.ports.len() <= to.index() {
            self.ports.resize(to.index() + 1, None);
        }
        self.ports[to.index()] = Some(port);
        is_first
    }

    pub(super) fn port(&self, to: StationId) -> Option<PortId> {
        self.ports.get(to.index()).copied().flatten()
    }

    /// Whether the packet at the head of its queue is among the parcels twice.
    pub(super) fn has_copy(&self) -> bool {
        self.arrival == Arrival::Copied
    }
}
