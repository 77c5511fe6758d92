//! Whether the packet loop was there when it should have been. What it measures takes no system
//! call a turn: the loop has read the clock already, and the kernel's own account of the thread is
//! read only when somebody asks.

#[cfg(test)]
mod tests;

use std::time::Duration;

use lasthop_linux::processor::{KeptWaiting, ProcessorTime};
use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};

use super::presence::{Presence, Why};
use crate::io::LONGEST_WAIT;

/// An absence so long is a stall, as it is for the emulator: half of the longest wait, and a good
/// part of any round trip.
const STALL: Duration = Duration::from_millis(10);

/// Absences of the packet loop.
#[derive(Debug)]
pub(super) struct Punctuality {
    /// When the loop is to come round again at the latest.
    due: Instant,
    /// From the last heartbeat of the last turn to the end of that turn.
    silent: Duration,
    stalls: u64,
    stalled: Duration,
    longest: Duration,
    /// Before the loop started.
    before: Option<ProcessorTime>,
    presence: Presence,
}

/// How punctual a packet loop was.
///
/// An absence is a turn, together with what it began too late: after a deadline, or after the 20 ms
/// that the loop waits at most. A loop that a frame should have called earlier than that is late
/// unnoticed, by up to 20 ms; that is in `kept_waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PunctualityReport {
    /// Absences of 10 ms or more.
    pub stalls: u64,
    /// Seconds that those took.
    pub stalled_s: f64,
    /// The longest absence, in seconds: above 0.06, frames went past us meanwhile.
    pub longest_absence_s: f64,
    /// Whether the loop has stepped out, because it did not run in time, waited for a processor most of
    /// the time, or has ports that lose frames: then everything passes untouched.
    pub is_out: bool,
    /// How often it stepped out.
    pub steps_out: u64,
    /// How often of these because its ports lost frames.
    pub steps_out_by_ports: u64,
    /// Seconds that it was out, in all.
    pub out_s: f64,
    /// How long the loop had not run when it last stepped out, or last had to stay out, in seconds;
    /// `None` if it ran, but waited for a processor most of the time, if its ports lost frames, and
    /// if it never stepped out.
    pub away_s: Option<f64>,
    /// How the loop's thread waited for a processor; `None` where the kernel does not tell (it
    /// takes `CONFIG_SCHED_INFO`).
    pub kept_waiting: Option<KeptWaiting>,
}

impl Punctuality {
    /// Of a loop on this thread that begins now; `can_step_out` says that frames can go past it.
    pub(super) fn new(now: Instant, can_step_out: bool) -> Self {
        let before = ProcessorTime::of_this_thread();
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

    /// A turn begins. Whether the loop is to take traffic; `ports_work` says that ports lose no frames.
    pub(super) fn is_in(&mut self, now: Instant, ports_work: bool) -> bool {
        let late = now.since(self.due);
        // Also for who asks in this turn.
        self.longest = self.longest.max(late);
        self.presence.is_in(now, self.silent + late, ports_work, ProcessorTime::of_this_thread)
    }

    /// A turn is over, in which the loop last said at `heard` that it is alive; the next one is to
    /// follow at once.
    pub(super) fn turn(&mut self, began: Instant, heard: Instant, ended: Instant) {
        let absence = began.since(self.due) + ended.since(began);
        self.longest = self.longest.max(absence);
        if absence >= STALL {
            self.stalls += 1;
            self.stalled += absence;
        }
        self.due = ended;
        self.silent = ended.since(heard);
    }

    /// The next turn is to follow when `until` comes, or something to do.
    pub(super) fn wait(&mut self, until: Option<Instant>) {
        let longest = self.due + LONGEST_WAIT;
        self.due = until.map_or(longest, |until| until.clamp(self.due, longest));
    }

    /// Why it last stepped out or had to stay out; `None` if it never did.
    pub(super) const fn why_out(&self) -> Option<Why> {
        self.presence.why()
    }

    /// How it was so far. To be called on the loop's thread.
    pub(super) fn report(&self, now: Instant) -> PunctualityReport {
        let time = ProcessorTime::of_this_thread().zip(self.before).map(|(now, before)| now.since(before));
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
            kept_waiting: time.map(KeptWaiting::of),
        }
    }
}
