//! Progress bars.

use std::fmt;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use lasthop_kernels::build::{self, Phase};
use lasthop_lab::Progress;

/// A bar for the number of complete runs; hidden if standard error is not a terminal. Clones share
/// the bar.
#[derive(Clone)]
pub struct Bar(ProgressBar);

impl Bar {
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} runs{left}") {
            bar.set_style(style.with_key("left", left));
        }
        Self(bar)
    }

    /// Removes the bar from the screen.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// Writes the estimated remaining time, when at least one run is complete.
fn left(state: &ProgressState, out: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // After an error, the bar has no such text.
        let _ = write!(out, ", {:#} left", HumanDuration(state.eta()));
    }
}

/// A bar for the simulated time of one run; hidden if standard error is not a terminal.
pub struct TimeBar(ProgressBar);

impl TimeBar {
    /// Creates the bar of a run with this maximum simulated time.
    pub fn new(duration: Duration) -> Self {
        let bar = ProgressBar::new(millis(duration));
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent}% simulated, at most {eta} left") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Removes the bar from the screen.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Progress for TimeBar {
    fn reach(&self, simulated: Duration) {
        self.0.set_position(millis(simulated));
    }
}

impl Progress for Bar {
    fn expect(&self, runs: u64) {
        self.0.inc_length(runs);
    }

    fn advance(&self) {
        self.0.inc(1);
    }
}

/// How far the build of a kernel is: its phase, or the number of compiled files; hidden if standard
/// error is not a terminal.
pub struct BuildBar(ProgressBar);

impl BuildBar {
    pub fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// Removes the bar from the screen.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl build::Progress for BuildBar {
    fn begin(&self, phase: Phase) {
        match phase {
            Phase::Unpacking => self.0.set_message("unpacking the source"),
            Phase::Configuring => self.0.set_message("editing and configuring"),
            Phase::Compiling { objects } => {
                self.0.set_length(objects.into());
                self.0.reset_eta();
                if let Ok(style) =
                    ProgressStyle::with_template("{bar:40} {pos} of about {len} files compiled{left}")
                {
                    self.0.set_style(style.with_key("left", left));
                }
            }
        }
    }

    fn compiled(&self, objects: u32) {
        let objects = objects.into();
        // The number of all is an estimate.
        if self.0.length().is_some_and(|length| length < objects) {
            self.0.set_length(objects);
        }
        self.0.set_position(objects);
    }
}
