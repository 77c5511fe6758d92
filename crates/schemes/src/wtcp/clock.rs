//! The clock that a sender takes TSval from, as it is seen where the agent sits: what a packet
//! would carry that came in at a given time.

use std::time::Duration;

use lasthop_hop::last_hop::TIMESTAMP_RATES;
use lasthop_packet::{Instant, Seq};

/// A clock is known once it was seen for this time, and for [`LEAST_TICKS`].
const LEAST_SPAN: Duration = Duration::from_secs(1);
const LEAST_TICKS: u64 = 8;

/// The rate may be off by one part in this many: what the path's delay varies by in
/// [`LEAST_SPAN`], and too little to take one rate for another.
const TOLERANCE: u64 = 4;

/// A clock that is off by more than this is another one.
const LARGEST_STEP: Duration = Duration::from_secs(2);

/// The longest time that the rate is measured over: the fastest clock does not get half round in it.
const LONGEST_SPAN: Duration = Duration::from_secs(64);

/// A reading, and when it came.
type Reading = (Seq, Instant);

/// A sender's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderClock {
    /// The rate is measured from here on.
    first: Option<Reading>,
    latest: Option<Reading>,
    /// Ticks a second; `None` before it is known.
    rate: Option<u64>,
}

impl SenderClock {
    /// Takes note of a TSval.
    pub fn note(&mut self, tsval: Seq, now: Instant) {
        let reading = Some((tsval, now));
        if self.is_another(tsval, now) {
            *self = Self { first: reading, latest: reading, rate: None };
            return;
        }
        // What is older came late, or again.
        if self.latest.is_some_and(|(latest, _)| !tsval.after(latest)) {
            return;
        }
        self.latest = reading;
        let Some((first, began)) = self.first else { return };
        let (span, ticks) = (now.since(began), u64::from(tsval - first));
        if span >= LEAST_SPAN && ticks >= LEAST_TICKS {
            self.rate = nominal(ticks, span);
        }
        if span >= LONGEST_SPAN {
            self.first = reading;
        }
    }

    /// The timestamp of a packet that the sender sends so that it comes in at this time; `None` before
    /// its clock is known.
    pub fn reads(&self, at: Instant) -> Option<Seq> {
        let ((latest, seen), rate) = self.latest.zip(self.rate)?;
        Some(if at >= seen {
            latest + ticks(at.since(seen), rate) as u32
        } else {
            Seq(latest.0.wrapping_sub(ticks(seen.since(at), rate) as u32))
        })
    }

    /// Whether a reading is far from what this clock would have read.
    fn is_another(&self, tsval: Seq, now: Instant) -> bool {
        let Some((latest, seen)) = self.latest else { return true };
        let Some((expected, rate)) = self.reads(now).zip(self.rate) else {
            // No clock in use stands still for so long.
            return !tsval.after(latest) && now.since(seen) >= LARGEST_STEP;
        };
        // A coarse clock is never far from itself by less than one tick.
        let far = (rate * LARGEST_STEP.as_secs()).max(2);
        u64::from(tsval.offset_from(expected).unsigned_abs()) > far
    }
}

/// The rate of a clock that made `ticks` in the time of `span`, if it is one of those in use.
fn nominal(ticks: u64, span: Duration) -> Option<u64> {
    TIMESTAMP_RATES.into_iter().find(|rate| {
        let expected = self::ticks(span, *rate);
        expected.abs_diff(u128::from(ticks)) <= expected / u128::from(TOLERANCE)
    })
}

/// The ticks of a clock in so long a time.
fn ticks(time: Duration, rate: u64) -> u128 {
    let nanos = time.as_nanos();
    // Mostly it fits into one word, which is much quicker to divide.
    match u64::try_from(nanos).ok().and_then(|nanos| nanos.checked_mul(rate)) {
        Some(product) => u128::from(product / 1_000_000_000),
        None => nanos * u128::from(rate) / 1_000_000_000,
    }
}
