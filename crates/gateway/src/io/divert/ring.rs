//! The ring buffer: headers of what passed, which the programs write and we read in shared memory.
//!
//! Nobody is woken for a few records, since nothing waits for them. A ring with anything in it is
//! readable, though, so the loop waits for the programs' call ([`Ring::alarm`]) and not for the ring.

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

/// Records that are read at a time at most: as many as there is room for, so that all that were
/// there when it began are read.
const BATCH: usize = RING as usize / size_of::<Record>();

/// The ring, and where its records come from.
pub(super) struct Ring {
    records: RingBuf<MapData>,
    alarm: OwnedFd,
    /// The ports of each radio interface, by its number.
    radios: Vec<(u32, [PortId; 2])>,
}

impl Ring {
    pub(super) fn new(records: RingBuf<MapData>, radios: Vec<(u32, [PortId; 2])>) -> io::Result<Self> {
        let alarm = create(CreateFlags::CLOEXEC)?;
        // Edge-triggered: by a call, not by what is there.
        add(&alarm, records.as_fd(), EventData::new_u64(0), EventFlags::IN | EventFlags::ET)?;
        Ok(Self { records, alarm, radios })
    }

    /// The numbers of the radio interfaces, in the order of their ports.
    pub(super) fn radios(&self) -> impl Iterator<Item = u32> {
        self.radios.iter().map(|(index, _)| *index)
    }

    /// Has a radio interface have another number from now on.
    pub(super) fn renumber(&mut self, radio: usize, index: u32) {
        self.radios[radio].0 = index;
    }

    /// Readable once the programs have called.
    pub(super) fn alarm(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }

    /// Takes note that they called.
    pub(super) fn clear_alarm(&self) {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // If that fails, the next wait is short.
        let _ = wait(&self.alarm, &mut events, Some(&at_once));
    }

    /// Hands in the records that are there.
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
