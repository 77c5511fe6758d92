//! Radios: stations of cells whose MAC is above the distributed coordination function and outside of the world. They
//! send whole frames, and learn what became of each; frames for them leave the world as they came.

use std::collections::{BTreeSet, VecDeque};

use lasthop_wifi::{Rate, StationId};

use crate::id::WlanId;
use crate::technology::{Sent, StationEvent};

/// Something that a radio learns. It happens now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RadioEvent {
    /// A frame has arrived, which is no duplicate. A broadcast arrives at several stations.
    Received {
        /// The receiver.
        at: StationId,
        /// The frame's key.
        key: u32,
        /// Its rate.
        rate: Rate,
        /// Its power in watts; `None` where the propagation has no powers.
        power: Option<f64>,
    },
    /// A frame was sent, or given up.
    Sent {
        /// The sender.
        from: StationId,
        /// The frame's key.
        key: u32,
        /// What became of it.
        sent: Sent,
    },
    /// A radio is on the channel to which it was [tuned](crate::World::tune_radio).
    Tuned {
        /// The station.
        at: StationId,
    },
}

/// All radios.
#[derive(Debug, Default)]
pub(crate) struct Radios {
    open: BTreeSet<(WlanId, StationId)>,
    events: VecDeque<(WlanId, RadioEvent)>,
}

impl Radios {
    /// A station becomes a radio.
    pub(crate) fn open(&mut self, cell: WlanId, station: StationId) {
        self.open.insert((cell, station));
    }

    #[inline]
    pub(crate) fn are_any(&self) -> bool {
        !self.open.is_empty()
    }

    /// What happens at a station, if it is a radio.
    pub(crate) fn on_event(&mut self, cell: WlanId, event: StationEvent) {
        let (station, event) = match event {
            StationEvent::Frame { at, key, rate, power, .. } => {
                (at, RadioEvent::Received { at, key, rate, power })
            }
            StationEvent::Sent { from, key, sent } => (from, RadioEvent::Sent { from, key, sent }),
            StationEvent::Tuned { station, .. } => (station, RadioEvent::Tuned { at: station }),
            StationEvent::NotAssociated { .. } => return,
        };
        if self.open.contains(&(cell, station)) {
            self.events.push_back((cell, event));
        }
    }

    pub(crate) fn next_event(&mut self) -> Option<(WlanId, RadioEvent)> {
        self.events.pop_front()
    }
}
