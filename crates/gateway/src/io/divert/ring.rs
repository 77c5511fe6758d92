//! The ring buffer: headers of packets that passed, which the programs write to shared memory.
//!
//! The programs do not wake the loop for a few records, since no packet waits for them. But a ring
//! that is not empty is readable, so the loop waits for the programs' wake-up ([`Ring::alarm`]),
//! not for the ring.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use aya::maps::{MapData, RingBuf};
use lasthop_packet::Instant;
use rustix::event::epoll::{CreateFlags, Event, EventData, EventFlags, add, create, wait};
use rustix::time::Timespec;

use super::layout::{RING, Record};
use crate::frame::Headers;
use crate::io::PortId;

/// The maximum number of records read at a time: the capacity of the ring, so that all records
/// present at the beginning are read.
const BATCH: usize = RING as usize / size_of::<Record>();

/// The ring, and the ports of its records.
pub(super) struct Ring {
    records: RingBuf<MapData>,
    alarm: OwnedFd,
    /// The index and ports of each radio interface.
    radios: Vec<(u32, [PortId; 2])>,
}

impl Ring {
    pub(super) fn new(records: RingBuf<MapData>, radios: Vec<(u32, [PortId; 2])>) -> io::Result<Self> {
        let alarm = create(CreateFlags::CLOEXEC)?;
        // Edge-triggered: by a wake-up, not by the presence of records.
        add(&alarm, records.as_fd(), EventData::new_u64(0), EventFlags::IN | EventFlags::ET)?;
        Ok(Self { records, alarm, radios })
    }

    /// The indices of the radio interfaces, in the order of their ports.
    pub(super) fn radios(&self) -> impl Iterator<Item = u32> {
        self.radios.iter().map(|(index, _)| *index)
    }

    /// Changes the index of a radio interface.
    pub(super) fn renumber(&mut self, radio: usize, index: u32) {
        self.radios[radio].0 = index;
    }

    /// A descriptor that is readable after a wake-up by the programs.
    pub(super) fn alarm(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }

    /// Clears the wake-up.
    pub(super) fn clear_alarm(&self) {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // If that fails, the next wait is short.
        let _ = wait(&self.alarm, &mut events, Some(&at_once));
    }

    /// Calls `take` for each record in the ring.
    pub(super) fn take(&mut self, take: &mut dyn FnMut(PortId, Instant, &Headers<'_>)) {
        for _ in 0..BATCH {
            let Some(item) = self.records.next() else { return };
            let Some(record) = Record::read(&item) else { continue };
            let radio = self.radios.iter().find(|(index, _)| *index == record.ifindex);
            let Some((_, [core, radio])) = radio else { continue };
            take(if record.is_down() { *core } else { *radio }, record.passed(), &record.headers());
        }
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("radios", &self.radios).finish_non_exhaustive()
    }
}
