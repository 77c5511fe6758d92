//! The runs of a trial, some at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use lasthop_lab::Progress;
use lasthop_trial::TrialError;
use lasthop_trial::plan::Case;

use crate::progress::Bar;

/// What has become of the runs.
pub(super) struct Runs<T> {
    /// What those that are done have brought, in the order of the cases.
    pub(super) done: Vec<T>,
    /// Why one failed: then others are missing, too.
    pub(super) failed: Option<TrialError>,
}

/// Runs the cases, `jobs` at a time. The first failure ends all, as `stop` does.
pub(super) fn all<T: Send>(
    cases: &[Case],
    jobs: usize,
    stop: &AtomicBool,
    run: impl Fn(&Case) -> Result<T, TrialError> + Sync,
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

fn next_of<'a>(cases: &'a [Case], next: &AtomicUsize) -> Option<(usize, &'a Case)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|case| (index, case))
}

/// A thread that panicked while it held the lock has already failed the whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
