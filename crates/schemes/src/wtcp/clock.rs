//! The clock behind a sender's TSval, as seen at the agent: the TSval of a packet that arrives at a
//! given time.

use std::time::Duration;

use lasthop_hop::last_hop::TIMESTAMP_RATES;
use lasthop_packet::{Instant, Seq};

/// The minimum time and number of ticks before the rate is known.
const MIN_SPAN: Duration = Duration::from_secs(1);
const MIN_TICKS: u64 = 8;

/// The rate may differ by one part in this number: the variation of the path's delay within
/// [`MIN_SPAN`], and too little to mistake one rate for another.
const TOLERANCE: u64 = 4;

/// A reading that differs by more than this is of another clock.
const MAX_STEP: Duration = Duration::from_secs(2);

/// The maximum time of a measurement: the fastest clock runs less than half its range in it.
const MAX_SPAN: Duration = Duration::from_secs(64);

/// A reading, and its arrival time.
type Reading = (Seq, Instant);

/// A sender's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderClock {
    /// The start of the measurement of the rate.
    first: Option<Reading>,
    latest: Option<Reading>,
    /// Ticks per second, if known.
    rate: Option<u64>,
}

impl SenderClock {
    /// Records a TSval.
    pub fn record(&mut self, tsval: Seq, now: Instant) {
        let reading = Some((tsval, now));
        if self.is_another(tsval, now) {
            *self = Self { first: reading, latest: reading, rate: None };
            return;
        }
        // An older reading was delayed, or is of a retransmission.
        if self.latest.is_some_and(|(latest, _)| !tsval.after(latest)) {
            return;
        }
        self.latest = reading;
        let Some((first, began)) = self.first else { return };
        let (span, ticks) = (now.since(began), u64::from(tsval - first));
        if span >= MIN_SPAN && ticks >= MIN_TICKS {
            self.rate = nominal(ticks, span);
        }
        if span >= MAX_SPAN {
            self.first = reading;
        }
    }

    /// The TSval of a packet that arrives at this time; `None` before the clock is known.
    pub fn reads(&self, at: Instant) -> Option<Seq> {
        let ((latest, seen), rate) = self.latest.zip(self.rate)?;
        Some(if at >= seen {
            latest + ticks(at.since(seen), rate) as u32
        } else {
            Seq(latest.0.wrapping_sub(ticks(seen.since(at), rate) as u32))
        })
    }

    /// Whether a reading is far from the expected one.
    fn is_another(&self, tsval: Seq, now: Instant) -> bool {
        let Some((latest, seen)) = self.latest else { return true };
        let Some((expected, rate)) = self.reads(now).zip(self.rate) else {
            // No clock in use stands still for this long.
            return !tsval.after(latest) && now.since(seen) >= MAX_STEP;
        };
        // The difference is at least two ticks, for coarse clocks.
        let far = (rate * MAX_STEP.as_secs()).max(2);
        u64::from(tsval.offset_from(expected).unsigned_abs()) > far
    }
}

/// The rate of a clock that made `ticks` in the time `span`, if it is one of those in use.
fn nominal(ticks: u64, span: Duration) -> Option<u64> {
    TIMESTAMP_RATES.into_iter().find(|rate| {
        let expected = self::ticks(span, *rate);
        expected.abs_diff(u128::from(ticks)) <= expected / u128::from(TOLERANCE)
    })
}

/// The ticks of a clock in this time.
fn ticks(time: Duration, rate: u64) -> u128 {
    let nanos = time.as_nanos();
    // Usually the product fits into one word, which is much faster to divide.
    match u64::try_from(nanos).ok().and_then(|nanos| nanos.checked_mul(rate)) {
        Some(product) => u128::from(product / 1_000_000_000),
        None => nanos * u128::from(rate) / 1_000_000_000,
    }
}
