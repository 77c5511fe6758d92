//! The bypasses of connections: one slot each, in memory shared with the BPF programs.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_agent::{Bypass, Limits, Lookup, Shown};
use lasthop_packet::{FlowKey, Instant};

use super::error::ProgramError;
use super::layout::{ACKNOWLEDGED, FROM_UNTIL, HEADERS_ONLY, NEXT_AND_HAS_PASSED, SLOT_WORDS};
use super::mapped::Mapped;
use super::maps::Maps;
use lasthop_linux::clock;

/// The time after which a closed slot may be reused: a program that looked it up before, on another
/// processor, may still write to it. Programs run for microseconds.
const QUARANTINE: Duration = Duration::from_millis(100);

/// The slots. A connection without a slot has no bypass, and all its packets are diverted.
#[derive(Debug)]
pub(super) struct Bypasses {
    shared: Mapped,
    slots: Lookup<FlowKey, (u32, Shown)>,
    /// Closed slots and the times at which they were closed, in this order.
    closed: VecDeque<(Instant, u32)>,
    /// The number of slots used at least once.
    touched: u32,
    /// The number of slots.
    capacity: u32,
}

impl Bypasses {
    pub(super) fn new(maps: &Maps) -> Result<Self, ProgramError> {
        let shared = maps.share_bypasses()?;
        let (slots, closed) = (Lookup::default(), VecDeque::new());
        Ok(Self { shared, slots, closed, touched: 0, capacity: maps.slots() })
    }

    /// Opens, updates or closes a bypass as an agent requests.
    pub(super) fn follow(&mut self, bypass: Bypass, maps: &mut Maps) -> Result<(), ProgramError> {
        let flow = bypass.flow;
        match (bypass.limits, self.slots.get(&flow).copied()) {
            (Some(limits), Some((slot, shown))) => {
                self.store(slot, FROM_UNTIL, words_of(limits));
                if limits.shown != shown {
                    // Copies and headers arrive through two channels. So data may bypass again only
                    // after a segment was diverted: by then, all earlier copies or headers have
                    // arrived.
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
                    // If one direction stayed open, it would use the slot of another connection
                    // later.
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

    /// Closes the bypass of a connection. If this fails, the slot is not reused: one direction may
    /// still refer to it.
    fn close(&mut self, flow: FlowKey, slot: u32, maps: &mut Maps) -> Result<(), ProgramError> {
        maps.close_bypass(flow)?;
        self.closed.push_back((clock::now(), slot));
        Ok(())
    }

    /// Resets a slot: no data has passed yet, and `from` is the next sequence number.
    fn begin(&mut self, slot: u32, limits: Limits) {
        self.store(slot, NEXT_AND_HAS_PASSED, pair(limits.from.0, 0));
        self.store(slot, HEADERS_ONLY, pair(u32::from(limits.shown == Shown::Headers), 0));
    }

    fn store(&mut self, slot: u32, word: usize, value: u64) {
        self.shared.store(slot as usize * SLOT_WORDS + word, value);
    }

    fn take_slot(&mut self) -> Option<u32> {
        let now = clock::now();
        if self.closed.front().is_some_and(|(closed, _)| now.since(*closed) >= QUARANTINE) {
            return self.closed.pop_front().map(|(_, slot)| slot);
        }
        Some(self.touched).filter(|slot| *slot < self.capacity).inspect(|_| self.touched += 1)
    }
}

/// Both limits as one 64-bit number, so that they are stored atomically.
fn words_of(limits: Limits) -> u64 {
    u64::from(limits.until.0) << 32 | u64::from(limits.from.0)
}

/// Two 32-bit numbers, consecutive in memory.
fn pair(first: u32, second: u32) -> u64 {
    let mut octets = [0; 8];
    octets[..4].copy_from_slice(&first.to_ne_bytes());
    octets[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(octets)
}
