//! The kernel's statistics of a thread and the processors.

use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The processor time of a thread: since it began, or between two points in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Time that it ran.
    pub ran: Duration,
    /// Time that it was runnable and waited for a processor.
    pub waited: Duration,
    /// Number of times that it was given a processor.
    pub times: u64,
}

impl ProcessorTime {
    /// The time of the calling thread since it began; `None` if the kernel does not count it (it
    /// requires `CONFIG_SCHED_INFO`).
    ///
    /// From `/proc/PID/schedstat`: nanoseconds, nanoseconds, timeslices (Linux,
    /// `Documentation/scheduler/sched-stats.rst`).
    pub fn current_thread() -> Option<Self> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let mut numbers = text.split_ascii_whitespace().map_while(|number| number.parse::<u64>().ok());
        let (ran, waited, times) = (numbers.next()?, numbers.next()?, numbers.next()?);
        // A kernel that does not count has zeros only.
        (ran > 0).then_some(Self {
            ran: Duration::from_nanos(ran),
            waited: Duration::from_nanos(waited),
            times,
        })
    }

    /// The time after `earlier`.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(earlier.ran),
            waited: self.waited.saturating_sub(earlier.waited),
            times: self.times.saturating_sub(earlier.times),
        }
    }
}

/// The waiting time of a runnable thread for a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptWaiting {
    /// Seconds, in all.
    pub total_s: f64,
    /// How often it was given a processor.
    pub times: u64,
}

impl KeptWaiting {
    /// Runs `work` on this thread, and returns how long the thread waited for a processor
    /// meanwhile.
    pub fn during<T>(work: impl FnOnce() -> T) -> (T, Option<Self>) {
        let before = ProcessorTime::current_thread();
        let outcome = work();
        let time = ProcessorTime::current_thread().zip(before).map(|(now, before)| now.since(before));
        (outcome, time.map(Self::from_time))
    }

    /// The waiting time in a thread's processor time.
    pub fn from_time(time: ProcessorTime) -> Self {
        Self { total_s: time.waited.as_secs_f64(), times: time.times }
    }

    /// Mean waiting time in seconds.
    pub fn mean_s(self) -> f64 {
        self.total_s / (self.times.max(1) as f64)
    }
}
