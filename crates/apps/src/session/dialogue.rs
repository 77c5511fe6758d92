//! A running dialogue: a sequence of transactions, and their outcome. It returns actions on
//! connections, and receives the messages that have arrived over them. It does not depend on the
//! implementation of the connections.

use lasthop_packet::{Instant, Rng};
use lasthop_tcp::Stats;

use super::config::DialogueKind;
use super::outcome::DialogueOutcome;
use super::pace::{Pace, Pacer};
use super::script::{Lane, Party, Script, Step, Turn};

/// A running dialogue.
pub struct Dialogue {
    script: Box<dyn Script>,
    pacer: Pacer,
    rng: Rng,
    /// The start of the transaction in progress.
    began: Option<Instant>,
    /// The time of the next call.
    due: Option<Instant>,
    is_stopped: bool,
    received: u64,
    /// The outcome so far, without the statistics of open connections.
    outcome: DialogueOutcome,
}

/// An event of a dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialogueEvent {
    /// The dialogue starts.
    Start,
    /// The requested time has come.
    Due,
    /// A message has arrived completely.
    Arrived(Lane, Party),
    /// A connection has failed, and all others are gone, too.
    Failed,
    /// The dialogue must not begin another transaction.
    Stop,
}

impl Dialogue {
    /// Creates a dialogue of this kind; `rng` is [`super::Draws::script`].
    pub fn new(kind: DialogueKind, pace: Pace, start: Instant, rng: Rng) -> Self {
        Self {
            script: kind.script(),
            pacer: Pacer::new(pace, start),
            rng,
            began: None,
            due: None,
            is_stopped: false,
            received: 0,
            outcome: DialogueOutcome::default(),
        }
    }

    /// Handles an event, and appends the resulting actions to `steps`. Returns the time of the next
    /// [`DialogueEvent::Due`], if it has changed.
    pub fn on_event(&mut self, event: DialogueEvent, now: Instant, steps: &mut Vec<Step>) -> Option<Instant> {
        let mut wake_at = None;
        let mut turn = Turn { now, rng: &mut self.rng, steps, wake_at: &mut wake_at };
        match event {
            DialogueEvent::Due if self.due.is_none_or(|due| now < due) => return None,
            DialogueEvent::Due if self.began.is_some() => {
                self.due = None;
                self.script.woken(&mut turn);
            }
            DialogueEvent::Due => {
                self.due = None;
                if !self.is_stopped {
                    self.began = Some(now);
                    self.script.begin(&mut turn);
                }
            }
            DialogueEvent::Arrived(lane, at) => {
                if self.script.arrived(lane, at, &mut turn)
                    && let Some(began) = self.began.take()
                {
                    self.outcome.times.take(now.since(began));
                    self.plan_next(now, &mut wake_at, steps);
                }
            }
            DialogueEvent::Failed => {
                self.script.failed();
                if self.began.take().is_some() {
                    self.outcome.failed += 1;
                    self.plan_next(now, &mut wake_at, steps);
                }
            }
            DialogueEvent::Start => self.plan_next(now, &mut wake_at, steps),
            DialogueEvent::Stop => {
                self.is_stopped = true;
                if self.began.is_none() {
                    self.plan_next(now, &mut wake_at, steps);
                }
            }
        }
        for step in steps.iter() {
            match step {
                Step::Open { .. } => self.outcome.connections += 1,
                Step::Write { octets, .. } => self.outcome.offered += octets,
                Step::Close { .. } | Step::Leave { .. } => {}
            }
        }
        self.due = wake_at.or(self.due);
        wake_at
    }

    /// Plans the next transaction after the previous one has ended, or finishes the script.
    fn plan_next(&mut self, now: Instant, wake_at: &mut Option<Instant>, steps: &mut Vec<Step>) {
        if self.is_stopped {
            self.due = None;
            self.script.finish(&mut Turn { now, rng: &mut self.rng, steps, wake_at: &mut None });
        } else {
            let octets = self.script.plan(&mut self.rng);
            *wake_at = Some(self.pacer.next(octets, now, &mut self.rng));
        }
    }

    /// Whether it has stopped and no transaction is in progress.
    pub const fn is_done(&self) -> bool {
        self.is_stopped && self.began.is_none()
    }

    /// Records octets that have arrived at either end.
    pub const fn record_received(&mut self, octets: u64) {
        self.received += octets;
    }

    /// The number of octets that have arrived, at both ends together.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Adds the statistics of a connection's endpoint that has ended.
    pub const fn count(&mut self, stats: &Stats) {
        self.outcome.count(stats);
    }

    /// The outcome so far, without the statistics of open connections.
    pub fn outcome(&self) -> DialogueOutcome {
        DialogueOutcome { under_way: u64::from(self.began.is_some()), ..self.outcome.clone() }
    }
}
