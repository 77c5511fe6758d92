//! The runs of a trial, some at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use lasthop_lab::Progress;
use lasthop_live::trial::TrialError;
use lasthop_live::trial::plan::Case;

use crate::failure::Failure;
use crate::progress::Bar;

/// Runs the cases, `jobs` at a time; what each brings, in the order of the cases. The first failure
/// ends all, as `stop` does.
pub(super) fn all<T: Send>(
    cases: &[Case],
    jobs: usize,
    stop: &AtomicBool,
    run: impl Fn(&Case) -> Result<T, TrialError> + Sync,
) -> Result<Vec<T>, Failure> {
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
                        Ok(outcome) => lock(&outcomes).push((index, outcome)),
                        Err(error) => {
                            lock(&failed).get_or_insert(error);
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                    bar.advance();
                }
            });
        }
    });
    bar.finish();
    if let Some(error) = lock(&failed).take() {
        return Err(Failure::Run(error.into()));
    }
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Run(TrialError::Interrupted.into()));
    }
    let mut outcomes = std::mem::take(&mut *lock(&outcomes));
    outcomes.sort_by_key(|(index, _)| *index);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

fn next_of<'a>(cases: &'a [Case], next: &AtomicUsize) -> Option<(usize, &'a Case)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|case| (index, case))
}

/// A thread that panicked while it held the lock has already failed the whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
