//! Work is watched and canceled from code.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lasthop_lab::progress::Silent;
use lasthop_lab::run::RunError;
use lasthop_lab::sweep::{Grid, sweep};
use lasthop_lab::{Progress, bianchi, compare, relatives, run};
use lasthop_scenario::{Overrides, Scenario, Sweep, file};

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn overrides(settings: &[&str]) -> Overrides {
    Overrides { settings: settings.iter().map(|setting| (*setting).to_owned()).collect(), trace: None }
}

fn scenario(settings: &[&str]) -> Scenario {
    file::read(&scenarios().join("first-look.toml"), &overrides(settings)).expect("ours")
}

/// Counts reports, and cancels the work when a run reaches `cancel_at`.
#[derive(Default)]
struct Watcher {
    expected: AtomicUsize,
    done: AtomicUsize,
    times: Mutex<Vec<Duration>>,
    cancel_at: Option<Duration>,
    is_canceled: AtomicBool,
}

impl Progress for Watcher {
    fn expect(&self, runs: u64) {
        self.expected.fetch_add(runs as usize, Ordering::Relaxed);
    }

    fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn reach(&self, simulated: Duration) {
        self.times.lock().expect("no panic").push(simulated);
        if self.cancel_at.is_some_and(|at| simulated >= at) {
            self.is_canceled.store(true, Ordering::Relaxed);
        }
    }

    fn is_canceled(&self) -> bool {
        self.is_canceled.load(Ordering::Relaxed)
    }
}

/// Cancels as soon as a run has begun.
fn impatient() -> Watcher {
    Watcher { cancel_at: Some(Duration::from_nanos(1)), ..Watcher::default() }
}

/// Settings of work that would take far too long.
const FOR_EVER: [&str; 3] = ["flows.download.size='4 GB'", "duration='9000 h'", "seeds=4"];

#[test]
fn a_comparison_reports_its_progress() {
    let (scenario, watcher) = (scenario(&["seeds=3", "duration='5 s'"]), Watcher::default());
    compare(&scenario, &watcher).expect("it runs");
    let runs = 3 * scenario.schemes.len();
    assert_eq!((watcher.expected.into_inner(), watcher.done.into_inner()), (runs, runs));
    // Each run reports its beginning.
    assert!(watcher.times.into_inner().expect("no panic").len() >= runs);
}

#[test]
fn a_run_reports_its_progress_and_ends_when_it_is_canceled() {
    let (scenario, watcher) = (scenario(&FOR_EVER), impatient());
    let ended = run(&scenario, &scenario.schemes[scenario.baseline], 1, &watcher);
    assert_eq!(ended.expect_err("canceled"), RunError::Canceled);
    let times = watcher.times.into_inner().expect("no panic");
    assert!(times.len() == 2 && times[0].is_zero() && times[1] > times[0], "{times:?}");
}

#[test]
fn a_comparison_ends_when_it_is_canceled() {
    let watcher = impatient();
    assert_eq!(compare(&scenario(&FOR_EVER), &watcher).expect_err("canceled"), RunError::Canceled);
    assert!(watcher.expected.into_inner() > 8);
}

#[test]
fn a_sweep_ends_when_it_is_canceled() {
    let text = "scenario = 'first-look.toml'\n[vary]\n'tcp.window' = ['8 KiB', '16 KiB']\n";
    let sweep_file = Sweep::parse(text, "x.sweep.toml", &scenarios(), &overrides(&FOR_EVER)).expect("good");
    let read = |index: usize| -> Result<Scenario, RunError> {
        Ok(sweep_file.point(index).expect("a point").expect("good"))
    };
    let grid = Grid::check(&sweep_file, &read, &Silent).expect("it can run");
    let ended = sweep(&grid, 0, &impatient(), |_| Ok(()));
    assert_eq!(ended.expect_err("canceled"), RunError::Canceled);

    let canceled = Watcher { is_canceled: true.into(), ..Watcher::default() };
    assert_eq!(Grid::check(&sweep_file, &read, &canceled).err(), Some(RunError::Canceled));
}

#[test]
fn a_reproduction_ends_when_it_is_canceled() {
    let watcher = impatient();
    let ended = relatives::reproduce(10_000, &watcher);
    assert_eq!(ended.expect_err("canceled"), RunError::Canceled);
    let ended = bianchi::reproduction::reproduce(10_000, &watcher);
    assert_eq!(ended.expect_err("canceled"), RunError::Canceled);
}
