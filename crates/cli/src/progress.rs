//! The progress bar.

use indicatif::{ProgressBar, ProgressStyle};
use lasthop_lab::Progress;

/// A bar on standard error; nothing where that is no terminal. Clones are the same bar.
#[derive(Clone)]
pub struct Bar(ProgressBar);

impl Bar {
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Removes the bar from the screen.
    pub fn finish(&self) {
        self.0.finish_and_clear();
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
