//! Calls that are executed together.
//!
//! One caller at a time executes: its own call, and those of all who came while the one before it
//! executed. The others wait for their results.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use lasthop_packet::Instant;

use crate::error::Error;
use crate::limits::Limits;
use crate::state::Command;

/// What a caller wants.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) command: Command,
    /// The caller's time.
    pub(super) now: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Turns {
    queue: Mutex<Queue>,
    finished: Condvar,
}

/// There are at most as many jobs and results as callers.
#[derive(Debug, Default)]
struct Queue {
    /// The number of the next job.
    next: u64,
    waiting: VecDeque<(u64, Job)>,
    results: BTreeMap<u64, Result<u64, Error>>,
    is_executing: bool,
}

impl Turns {
    /// The result of a command. `execute` returns a result for each of its jobs, in their order.
    pub(super) fn execute(
        &self,
        command: Command,
        now: Instant,
        execute: impl Fn(&[Job]) -> Vec<Result<u64, Error>>,
    ) -> Result<u64, Error> {
        let mut queue = self.lock();
        let number = queue.next;
        queue.next += 1;
        queue.waiting.push_back((number, Job { command, now }));
        loop {
            if let Some(result) = queue.results.remove(&number) {
                return result;
            }
            if queue.is_executing {
                queue = self.finished.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let count = queue.waiting.len().min(Limits::BATCH);
            let (numbers, jobs): (Vec<u64>, Vec<Job>) = queue.waiting.drain(..count).unzip();
            if jobs.is_empty() {
                // Only where the caller that had it panicked.
                return Err(io::Error::other("the call was not executed").into());
            }
            queue.is_executing = true;
            drop(queue);
            let mut turn = Turn { turns: self, results: Vec::new() };
            turn.results = numbers.into_iter().zip(execute(&jobs)).collect();
            drop(turn);
            queue = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends with its results; without any where the one who executes panics.
struct Turn<'a> {
    turns: &'a Turns,
    results: Vec<(u64, Result<u64, Error>)>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.turns.lock();
        queue.results.extend(self.results.drain(..));
        queue.is_executing = false;
        self.turns.finished.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;
    use crate::entry::LeaseId;

    fn leave(number: u64) -> Command {
        Command::Leave(LeaseId::new(number))
    }

    #[test]
    fn calls_that_come_while_another_is_executed_are_executed_together() {
        let turns = Turns::default();
        let ((begun, begins), (release, released)) = (channel(), channel());
        let released = Mutex::new(released);
        let sizes = Mutex::new(Vec::new());
        let execute = |jobs: &[Job]| {
            if jobs.iter().any(|job| job.command == leave(0)) {
                begun.send(()).expect("the test waits");
                released.lock().expect("no panic").recv().expect("it is released");
            }
            sizes.lock().expect("no panic").push(jobs.len());
            let results = jobs.iter().map(|job| match job.command {
                Command::Leave(lease) => Ok(lease.number()),
                _ => Ok(0),
            });
            results.collect()
        };
        thread::scope(|scope| {
            let (turns, execute) = (&turns, &execute);
            let call = |number| scope.spawn(move || turns.execute(leave(number), Instant::ZERO, execute));
            let first = call(0);
            begins.recv().expect("it begins");
            let others: Vec<_> = (1..=100).map(call).collect();
            while turns.lock().waiting.len() < 100 {
                thread::yield_now();
            }
            release.send(()).expect("it waits");
            assert_eq!(first.join().expect("no panic").expect("it was executed"), 0);
            for (number, other) in (1..).zip(others) {
                assert_eq!(other.join().expect("no panic").expect("it was executed"), number);
            }
        });
        assert_eq!(*sizes.lock().expect("no panic"), [1, Limits::BATCH, 100 - Limits::BATCH]);
        assert!(turns.lock().results.is_empty());
    }

    #[test]
    fn a_panic_fails_the_calls_that_were_executed_and_no_others() {
        let turns = Turns::default();
        let panicked = thread::scope(|scope| {
            scope.spawn(|| turns.execute(leave(1), Instant::ZERO, |_| panic!("on purpose"))).join()
        });
        assert!(panicked.is_err());
        let result = turns.execute(leave(2), Instant::ZERO, |jobs| jobs.iter().map(|_| Ok(2)).collect());
        assert!(matches!(result, Ok(2)));
    }
}
