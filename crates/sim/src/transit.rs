//! What every part of a world works with: the time, the events to come, the packets on their way,
//! what is told and counted of them, and where
//! the data that they carry begins.

use lasthop_packet::{Instant, Packet};

use crate::observe::{Interest, TraceEvent};
use crate::parcel::{ParcelKey, Parcels};
use crate::schedule::Schedule;
use crate::streams::Streams;
use crate::telemetry::Telemetry;

pub(crate) struct Transit {
    pub(crate) now: Instant,
    pub(crate) schedule: Schedule,
    /// Every packet on its way, with where it goes.
    pub(crate) parcels: Parcels,
    pub(crate) telemetry: Telemetry,
    pub(crate) streams: Streams,
}

impl Transit {
    pub(crate) fn new() -> Self {
        Self {
            now: Instant::ZERO,
            schedule: Schedule::default(),
            parcels: Parcels::default(),
            telemetry: Telemetry::new(),
            streams: Streams::default(),
        }
    }

    /// Whether an observer wants events of one of these kinds.
    #[inline]
    pub(crate) const fn wants(&self, kinds: Interest) -> bool {
        self.telemetry.wants(kinds)
    }

    /// Tells observers of something that happens now.
    #[inline]
    pub(crate) fn emit(&mut self, event: &TraceEvent<'_>) {
        self.telemetry.emit(self.now, event);
    }

    /// Tells observers of something that happens to a parcel; `kind` is that of the event.
    #[inline]
    pub(crate) fn trace(
        &mut self,
        kind: Interest,
        key: ParcelKey,
        event: impl FnOnce(&Packet) -> TraceEvent<'_>,
    ) {
        if self.telemetry.wants(kind) {
            self.telemetry.emit(self.now, &event(self.parcels[key].packet()));
        }
    }
}
