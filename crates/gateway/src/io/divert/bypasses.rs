//! What the programs may let pass of connections: a slot each, in memory that we share with them.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_agent::{Bypass, Limits, Lookup, Shown};
use lasthop_packet::{FlowKey, Instant};

use super::error::ProgramError;
use super::layout::{ACKNOWLEDGED, FROM_UNTIL, HEADERS_ONLY, NEXT_AND_HAS_PASSED, SLOT_WORDS};
use super::mapped::Mapped;
use super::maps::Maps;
use lasthop_linux::clock;

/// A closed slot is not used again for so long: a program that found it before, on another processor,
/// may still write to it. Programs run for microseconds.
const REST: Duration = Duration::from_millis(100);

/// The slots. Connections for which there is none are served as well, only more slowly.
#[derive(Debug)]
pub(super) struct Bypasses {
    shared: Mapped,
    slots: Lookup<FlowKey, (u32, Shown)>,
    /// Slots that are closed, and when each was, in this order.
    closed: VecDeque<(Instant, u32)>,
    /// Slots that were in use at least once, and how many there are.
    touched: u32,
    most: u32,
}

impl Bypasses {
    pub(super) fn new(maps: &Maps) -> Result<Self, ProgramError> {
        let shared = maps.share_bypasses()?;
        Ok(Self { shared, slots: Lookup::default(), closed: VecDeque::new(), touched: 0, most: maps.slots() })
    }

    /// Does what an agent says.
    pub(super) fn follow(&mut self, bypass: Bypass, maps: &mut Maps) -> Result<(), ProgramError> {
        let flow = bypass.flow;
        match (bypass.limits, self.slots.get(&flow).copied()) {
            (Some(limits), Some((slot, shown))) => {
                self.store(slot, FROM_UNTIL, words_of(limits));
                if limits.shown != shown {
                    // Copies and headers come by two channels. So data passes again only after a
                    // segment was asked about: by then what passed before is here.
                    self.begin(slot, limits);
                    self.slots.insert(flow, (slot, limits.shown));
                }
            }
            (Some(limits), None) => {
                let Some(slot) = self.take_slot() else { return Ok(()) };
                self.store(slot, FROM_UNTIL, words_of(limits));
                self.begin(slot, limits);
                self.store(slot, ACKNOWLEDGED, pair(limits.acknowledged.0, 0));
                if let Err(error) = maps.open_bypass(flow, slot) {
                    // Half open, it would lead to whoever has the slot next.
                    let _ = self.close(flow, slot, maps);
                    return Err(error);
                }
                self.slots.insert(flow, (slot, limits.shown));
            }
            (None, Some((slot, _))) => {
                self.slots.remove(&flow);
                return self.close(flow, slot, maps);
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// Lets nothing of a connection pass any more. A slot that still is some direction's is nobody's from
    /// then on: what passes by it is of a connection that is over.
    fn close(&mut self, flow: FlowKey, slot: u32, maps: &mut Maps) -> Result<(), ProgramError> {
        maps.close_bypass(flow)?;
        self.closed.push_back((clock::now(), slot));
        Ok(())
    }

    /// Nothing has passed yet, and `from` is next; of the other direction nothing is known.
    fn begin(&mut self, slot: u32, limits: Limits) {
        self.store(slot, NEXT_AND_HAS_PASSED, pair(limits.from.0, 0));
        self.store(slot, HEADERS_ONLY, pair(u32::from(limits.shown == Shown::Headers), 0));
    }

    fn store(&mut self, slot: u32, word: usize, value: u64) {
        self.shared.store(slot as usize * SLOT_WORDS + word, value);
    }

    fn take_slot(&mut self) -> Option<u32> {
        let now = clock::now();
        if self.closed.front().is_some_and(|(closed, _)| now.since(*closed) >= REST) {
            return self.closed.pop_front().map(|(_, slot)| slot);
        }
        Some(self.touched).filter(|slot| *slot < self.most).inspect(|_| self.touched += 1)
    }
}

/// One number of 64 bits, that it is stored at once.
fn words_of(limits: Limits) -> u64 {
    u64::from(limits.until.0) << 32 | u64::from(limits.from.0)
}

/// Two numbers of 32 bits, one behind the other in memory.
fn pair(first: u32, second: u32) -> u64 {
    let mut octets = [0; 8];
    octets[..4].copy_from_slice(&first.to_ne_bytes());
    octets[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(octets)
}
