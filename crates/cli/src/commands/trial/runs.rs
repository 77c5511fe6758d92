//! Executes the runs of a trial in parallel.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use lasthop_lab::Progress;
use lasthop_trial::TrialError;

use crate::progress::Bar;

/// The outcomes of the runs.
pub(super) struct Runs<T> {
    /// The outcomes of completed runs, in the order of the cases.
    pub(super) done: Vec<T>,
    /// The error of a run, after which other runs are missing, too.
    pub(super) failed: Option<TrialError>,
}

/// Does the runs of these cases, `jobs` at a time. None starts after the first failure, or after `stop` is set.
pub(super) fn all<C: Sync, T: Send>(
    cases: &[C],
    jobs: usize,
    stop: &AtomicBool,
    run: impl Fn(&C) -> Result<T, TrialError> + Sync,
) -> Runs<T> {
    let bar = Bar::new();
    bar.expect(cases.len() as u64);
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<TrialError>> = Mutex::new(None);
    let outcomes: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs.min(cases.len()) {
            scope.spawn(|| {
                while let Some((index, case)) =
                    next_of(cases, &next).filter(|_| !stop.load(Ordering::Relaxed))
                {
                    match run(case) {
                        Ok(outcome) => {
                            lock(&outcomes).push((index, outcome));
                            bar.advance();
                        }
                        Err(error) => {
                            lock(&failed).get_or_insert(error);
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    bar.finish();
    let mut outcomes = std::mem::take(&mut *lock(&outcomes));
    outcomes.sort_by_key(|(index, _)| *index);
    let done = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    Runs { done, failed: lock(&failed).take() }
}

fn next_of<'a, C>(cases: &'a [C], next: &AtomicUsize) -> Option<(usize, &'a C)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|case| (index, case))
}

/// Locks a mutex. Poisoning is ignored: a panic of a thread ends all runs anyway.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
