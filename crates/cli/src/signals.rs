//! The handling of signals that end the command.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lasthop_linux::results::remove_parts;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Handles Ctrl-C and similar signals: calls `last`, removes incomplete files, and ends the process
/// by the signal, at once: a command that waits for the reader of a pipe does not check for
/// cancellation.
pub fn on_termination(last: impl Fn() + Send + 'static) {
    // If this fails, the only consequence is that incomplete files are left.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    std::thread::spawn(move || {
        for signal in &mut signals {
            last();
            end_by(signal);
        }
    });
}

/// The termination signals of a command that prints results after a signal.
pub struct Termination {
    stop: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Termination {
    /// Starts to catch the signals: from now on, they do not end the process.
    pub fn listen() -> io::Result<Self> {
        let termination = Self { stop: Arc::default(), signal: Arc::default() };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order, so that the signal is known when `stop` is set.
            flag::register_usize(signal, Arc::clone(&termination.signal), signal as usize)?;
            flag::register(signal, Arc::clone(&termination.stop))?;
        }
        Ok(termination)
    }

    /// A flag that is set when a signal arrives.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// The signal that has arrived, if any.
    pub fn signal(&self) -> Option<i32> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

/// Removes incomplete files, and ends the process by the signal: a shell reports 130 after Ctrl-C.
pub fn end_by(signal: i32) {
    remove_parts();
    let _ = emulate_default_handler(signal);
}
