//! Punctuality: how late the packet loop runs. The measurement needs no system call per turn: the
//! loop has already read the clock, and the kernel's statistics of the thread are read only at the
//! end of a window and for a report.

#[cfg(test)]
mod tests;

use std::time::Duration;

use lasthop_linux::processor::{KeptWaiting, ProcessorTime};
use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};

use super::presence::{Presence, Why};
use crate::io::LONGEST_WAIT;

/// The minimum absence that counts as a stall, as in the emulator: half of the longest wait, and a
/// considerable part of any round trip.
const STALL: Duration = Duration::from_millis(10);

/// Absences of the packet loop.
#[derive(Debug)]
pub(super) struct Punctuality {
    /// The latest time at which the next turn should begin.
    due: Instant,
    /// The time from the last heartbeat of the last turn to the end of that turn.
    silent: Duration,
    stalls: u64,
    stalled: Duration,
    longest: Duration,
    /// The thread's processor time before the loop started.
    before: Option<ProcessorTime>,
    presence: Presence,
}

/// The punctuality of a packet loop.
///
/// An absence is the duration of a turn plus the delay of its start after a deadline, or after the
/// maximum wait of 20 ms. The delay of a turn that a frame should have started earlier is not
/// counted as an absence; it is at most 20 ms, and part of `kept_waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PunctualityReport {
    /// Absences of 10 ms or more.
    pub stalls: u64,
    /// The total duration of these absences, in seconds.
    pub stalled_s: f64,
    /// The longest absence, in seconds: above 0.06, frames bypassed the loop.
    pub longest_absence_s: f64,
    /// Whether the loop has stepped out, because it did not run in time, waited for a processor most of
    /// the time, or has ports that lose frames. While it is out, all traffic passes unchanged.
    pub is_out: bool,
    /// How often the loop stepped out.
    pub steps_out: u64,
    /// The number of these that were because its ports lost frames.
    pub steps_out_by_ports: u64,
    /// The total time that the loop was out, in seconds.
    pub out_s: f64,
    /// The time that the loop had not run when it last stepped out or had to stay out, in seconds;
    /// `None` if it ran but waited for a processor most of the time, if its ports lost frames, or
    /// if it never stepped out.
    pub away_s: Option<f64>,
    /// The time that the loop's thread waited for a processor; `None` if the kernel does not report
    /// it (this requires `CONFIG_SCHED_INFO`).
    pub kept_waiting: Option<KeptWaiting>,
}

impl Punctuality {
    /// Creates the state for a loop on this thread that starts now; `can_step_out` is true if
    /// frames can bypass it.
    pub(super) fn new(now: Instant, can_step_out: bool) -> Self {
        let before = ProcessorTime::current_thread();
        let presence = Presence::new(now, before, can_step_out);
        Self {
            due: now,
            silent: Duration::ZERO,
            stalls: 0,
            stalled: Duration::ZERO,
            longest: Duration::ZERO,
            before,
            presence,
        }
    }

    /// To be called at the start of a turn; `ports_work` is true if no port loses frames. Returns
    /// whether the loop takes traffic.
    pub(super) fn is_in(&mut self, now: Instant, ports_work: bool) -> bool {
        let late = now.since(self.due);
        // So that a report in this turn includes it.
        self.longest = self.longest.max(late);
        self.presence.is_in(now, self.silent + late, ports_work, ProcessorTime::current_thread)
    }

    /// Records a turn with its last heartbeat. The next turn is due at once.
    pub(super) fn turn(&mut self, began: Instant, last_beat: Instant, ended: Instant) {
        let absence = began.since(self.due) + ended.since(began);
        self.longest = self.longest.max(absence);
        if absence >= STALL {
            self.stalls += 1;
            self.stalled += absence;
        }
        self.due = ended;
        self.silent = ended.since(last_beat);
    }

    /// Postpones the next turn until `until`, or the maximum wait.
    pub(super) fn wait(&mut self, until: Option<Instant>) {
        let longest = self.due + LONGEST_WAIT;
        self.due = until.map_or(longest, |until| until.clamp(self.due, longest));
    }

    /// Why the loop last stepped out or had to stay out; `None` if it never did.
    pub(super) const fn why_out(&self) -> Option<Why> {
        self.presence.why()
    }

    /// The report so far. To be called on the loop's thread.
    pub(super) fn report(&self, now: Instant) -> PunctualityReport {
        let time = ProcessorTime::current_thread().zip(self.before).map(|(now, before)| now.since(before));
        let (is_out, steps_out) = self.presence.report();
        PunctualityReport {
            is_out,
            steps_out,
            steps_out_by_ports: self.presence.by_ports(),
            out_s: self.presence.was_out(now).as_secs_f64(),
            away_s: match self.presence.why() {
                Some(Why::Late(late)) => Some(late.as_secs_f64()),
                Some(Why::Starved | Why::Ports) | None => None,
            },
            stalls: self.stalls,
            stalled_s: self.stalled.as_secs_f64(),
            longest_absence_s: self.longest.as_secs_f64(),
            kept_waiting: time.map(KeptWaiting::from_time),
        }
    }
}
