//! How fast a link direction is: a fixed rate, a measured one, or none.

use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::time::nanos;
use lasthop_packet::units::cut_to_ticks;
use lasthop_packet::{Bitrate, Instant};
use thiserror::Error;

/// Octets that one delivery opportunity of a Mahimahi trace carries.
pub const OPPORTUNITY_OCTETS: u64 = 1500;

/// A rate that stays, one that follows a trace, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// So many bits a second.
    Fixed(Bitrate),
    /// A measured trace, which begins again when it ends.
    Trace(Arc<CapacityTrace>),
    /// Nothing is transmitted: what waits is held, and what comes waits if there is room.
    Stalled,
}

/// Delivery opportunities in the Mahimahi format: a line is a time in milliseconds at which 1500
/// octets can leave the queue; a time may stand there several times; the last time is also the
/// length of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityTrace {
    /// Milliseconds, never decreasing; the last is above zero.
    opportunities: Vec<u64>,
}

/// What is wrong with a capacity trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CapacityTraceError {
    /// A line is no whole number.
    #[error("line {line}: {found:?} is not a time in whole milliseconds, as in Mahimahi's traces{}", instead_of(.found))]
    NotATime {
        /// Counted from 1.
        line: usize,
        /// What stands there, cut to 40 characters.
        found: String,
    },
    /// Time goes back.
    #[error("line {line}: {found} ms comes after {previous} ms; times never decrease")]
    Decreasing {
        /// Counted from 1.
        line: usize,
        /// The time on this line.
        found: u64,
        /// The time on the line before.
        previous: u64,
    },
    /// There is no opportunity after time 0.
    #[error("no delivery opportunity after 0 ms; expected one line per packet, each a time in milliseconds")]
    Empty,
}

/// What to do with a line of another format.
fn instead_of(found: &str) -> &'static str {
    if found.starts_with('#') {
        "; there are no comments in a trace: `grep -v '^#'` leaves them out"
    } else if found.starts_with(BYTE_ORDER_MARK) {
        "; the file begins with a byte-order mark: `sed '1s/^\\xEF\\xBB\\xBF//'` leaves it out"
    } else if found.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty()).count() > 1 {
        "; for rows of a time and a rate, see \"Recorded rates\" in docs/src/emulator.md"
    } else if found.parse::<f64>().is_ok_and(|number| number >= 0.0 && number.fract() > 0.0) {
        "; for fractions of a millisecond: `awk '{ print int($1) }'`"
    } else {
        ""
    }
}

/// What some editors write before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Capacity {
    /// Seconds that an octet takes in the mean; the time at the least rate, 1 bit/s, where there is none.
    pub(crate) fn octet_time(&self) -> f64 {
        let bps = match self {
            Self::Fixed(rate) => rate.as_bps() as f64,
            Self::Trace(trace) => trace.mean_bps(),
            Self::Stalled => 1.0,
        };
        8.0 / bps
    }
}

impl CapacityTrace {
    /// Reads a trace.
    pub fn parse(text: &str) -> Result<Self, CapacityTraceError> {
        let mut opportunities: Vec<u64> = Vec::new();
        for (index, row) in text.lines().enumerate() {
            let line = index + 1;
            let row = row.trim();
            if row.is_empty() {
                continue;
            }
            // A year is long enough, and keeps every sum of times in range.
            let at = row.parse::<u64>().ok().filter(|at| *at < 31_557_600_000).ok_or_else(|| {
                CapacityTraceError::NotATime { line, found: row.chars().take(40).collect() }
            })?;
            if let Some(&previous) = opportunities.last().filter(|&&previous| at < previous) {
                return Err(CapacityTraceError::Decreasing { line, found: at, previous });
            }
            opportunities.push(at);
        }
        match opportunities.last() {
            Some(&last) if last > 0 => Ok(Self { opportunities }),
            _ => Err(CapacityTraceError::Empty),
        }
    }

    /// The mean rate over the whole trace, in bits a second.
    pub fn mean_bps(&self) -> f64 {
        let octets = self.opportunities.len() as u64 * OPPORTUNITY_OCTETS;
        octets as f64 * 8000.0 / self.period_ms() as f64
    }

    fn period_ms(&self) -> u64 {
        // Construction leaves at least one time above zero.
        self.opportunities.last().copied().unwrap_or(1)
    }
}

/// A transmitter's place in its capacity.
#[derive(Clone, Debug)]
pub(crate) enum Pace {
    /// `last`: a length, and the nanoseconds that it takes.
    Fixed {
        rate: Bitrate,
        clock: Duration,
        last: (usize, u64),
    },
    Trace {
        trace: Arc<CapacityTrace>,
        cycle: u64,
        index: usize,
        left: u64,
    },
    Stalled {
        clock: Duration,
    },
}

/// The part of a packet's transmission that is still to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaining {
    left: u64,
    of: u64,
}

impl Pace {
    /// `clock`: transmission times at a fixed rate are cut down to whole multiples of it, unless it
    /// is zero.
    pub(crate) fn new(capacity: &Capacity, clock: Duration) -> Self {
        match capacity {
            Capacity::Fixed(rate) => Self::Fixed { rate: *rate, clock, last: (0, 0) },
            Capacity::Trace(trace) => {
                Self::Trace { trace: Arc::clone(trace), cycle: 0, index: 0, left: OPPORTUNITY_OCTETS }
            }
            Capacity::Stalled => Self::Stalled { clock },
        }
    }

    /// The pace of another capacity with the same clock.
    pub(crate) fn replaced(&self, capacity: &Capacity) -> Self {
        let clock = match self {
            Self::Fixed { clock, .. } | Self::Stalled { clock } => *clock,
            Self::Trace { .. } => Duration::ZERO,
        };
        Self::new(capacity, clock)
    }

    /// The time that `len` octets take at a fixed rate, whatever the clock makes of it.
    pub(crate) fn exact_time(&self, len: usize) -> Duration {
        match self {
            Self::Fixed { rate, .. } => rate.transmission_time(len as u64),
            Self::Trace { .. } | Self::Stalled { .. } => Duration::ZERO,
        }
    }

    /// Whether nothing is transmitted.
    pub(crate) const fn is_stalled(&self) -> bool {
        matches!(self, Self::Stalled { .. })
    }

    /// What is to come at `now` of the transmission of `len` octets that ends at `end`. A packet that
    /// waits for an opportunity of a trace is whole.
    pub(crate) fn rest(&self, len: usize, end: Instant, now: Instant) -> Remaining {
        match self {
            Self::Fixed { rate, clock, .. } => {
                let of = nanos(time_at_fixed_rate(*rate, *clock, len)).max(1);
                Remaining { left: nanos(end.since(now)).min(of), of }
            }
            Self::Trace { .. } | Self::Stalled { .. } => Remaining { left: 1, of: 1 },
        }
    }

    /// When the rest of a transmission of `len` octets, which is resumed at `now`, ends.
    pub(crate) fn finish_remaining(
        &mut self,
        now: Instant,
        len: usize,
        Remaining { left, of }: Remaining,
    ) -> Instant {
        // A part of a number is never above it.
        let part = |whole: u64| (u128::from(whole) * u128::from(left)).div_ceil(u128::from(of)) as u64;
        match self {
            Self::Fixed { rate, clock, .. } => {
                now.after_nanos(part(nanos(time_at_fixed_rate(*rate, *clock, len))))
            }
            Self::Trace { .. } => self.finish(now, part(len as u64) as usize),
            Self::Stalled { .. } => Instant::MAX,
        }
    }

    /// When a packet of `len` octets that is at the head of the queue at `start` has left.
    #[inline]
    pub(crate) fn finish(&mut self, start: Instant, len: usize) -> Instant {
        let Self::Fixed { rate, clock, last } = self else { return self.finish_at_no_fixed_rate(start, len) };
        if last.0 != len {
            *last = (len, nanos(time_at_fixed_rate(*rate, *clock, len)));
        }
        start.after_nanos(last.1)
    }

    #[cold]
    fn finish_at_no_fixed_rate(&mut self, start: Instant, len: usize) -> Instant {
        match self {
            Self::Trace { trace, cycle, index, left } => {
                finish_on_trace(trace, cycle, index, left, start, len as u64)
            }
            Self::Fixed { .. } | Self::Stalled { .. } => Instant::MAX,
        }
    }
}

#[cold]
fn time_at_fixed_rate(rate: Bitrate, clock: Duration, len: usize) -> Duration {
    cut_to_ticks(rate.transmission_time(len as u64), clock)
}

/// As Mahimahi's link shell does it: an opportunity's octets go to as many packets as are waiting
/// then, a packet may take several opportunities, and an opportunity for which no packet waits is
/// lost.
#[cold]
fn finish_on_trace(
    trace: &CapacityTrace,
    cycle: &mut u64,
    index: &mut usize,
    left: &mut u64,
    start: Instant,
    len: u64,
) -> Instant {
    let period = trace.period_ms();
    let at = |cycle: u64, index: usize| Instant::from_millis(cycle * period + trace.opportunities[index]);
    if at(*cycle, *index) < start {
        // The first opportunity at or after `start`: one at exactly the end of a cycle belongs to
        // that cycle.
        let start_ms = start.as_nanos().div_ceil(1_000_000);
        let new_cycle = start_ms.saturating_sub(1) / period;
        let within = start_ms - new_cycle * period;
        *cycle = new_cycle;
        *index = trace.opportunities.partition_point(|&at| at < within);
        *left = OPPORTUNITY_OCTETS;
    }
    let mut need = len.max(1);
    loop {
        let take = need.min(*left);
        need -= take;
        *left -= take;
        let now = at(*cycle, *index);
        if *left == 0 {
            *left = OPPORTUNITY_OCTETS;
            *index += 1;
            if *index == trace.opportunities.len() {
                *index = 0;
                *cycle += 1;
            }
        }
        if need == 0 {
            return now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(text: &str) -> Pace {
        let trace = CapacityTrace::parse(text).expect("a good trace");
        Pace::new(&Capacity::Trace(Arc::new(trace)), Duration::ZERO)
    }

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    #[test]
    fn a_packet_leaves_at_the_next_opportunity_and_unused_ones_are_gone() {
        let mut pace = pace("5\n10\n10\n20\n");
        assert_eq!(pace.finish(ms(0), 1500), ms(5));
        assert_eq!(pace.finish(ms(7), 1500), ms(10));
        assert_eq!(pace.finish(ms(10), 1500), ms(10));
        assert_eq!(pace.finish(ms(10), 1500), ms(20));
        assert_eq!(pace.finish(ms(20), 1500), ms(25), "the trace begins again");
        assert_eq!(pace.finish(ms(100), 1500), ms(100), "an opportunity at the end of the trace");
        assert_eq!(pace.finish(ms(1_000_001), 1500), ms(1_000_005));
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        let mut pace = pace("5\n10\n15\n");
        assert_eq!(pace.finish(ms(0), 500), ms(5));
        assert_eq!(pace.finish(ms(5), 1000), ms(5));
        assert_eq!(pace.finish(ms(5), 1501), ms(15));
        assert_eq!(pace.finish(ms(15), 1499), ms(15));
    }

    #[test]
    fn a_fixed_rate_is_exact_unless_the_clock_is_coarse() {
        let capacity = Capacity::Fixed(Bitrate::mbps(1));
        assert_eq!(Pace::new(&capacity, Duration::ZERO).finish(ms(1), 1064), Instant::from_nanos(9_512_000));
        assert_eq!(Pace::new(&capacity, Duration::from_millis(1)).finish(ms(1), 1064), ms(9));
    }

    #[test]
    fn a_bad_trace_is_refused_with_its_line() {
        let error = |text| CapacityTrace::parse(text).expect_err("a bad trace").to_string();
        assert!(error("").contains("no delivery opportunity"));
        assert!(error("0\n0\n").contains("no delivery opportunity"));
        assert!(error("1\ntwo\n").starts_with("line 2"));
        assert!(error("5\n\n4\n").starts_with("line 3"));
        assert!(error("-1\n").starts_with("line 1"));
    }
}
