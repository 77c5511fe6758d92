//! What remains to be done when a signal ends the command.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lasthop_linux::results::remove_parts;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// On Ctrl-C and the like: does this last, removes what has been written of files that are not
/// whole, and ends by the signal. It does not wait until the work is canceled: a command that waits
/// for the reader of a pipe does not ask.
pub fn on_termination(last: impl Fn() + Send + 'static) {
    // Without this a part would stay behind, and nothing else would be wrong.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    std::thread::spawn(move || {
        for signal in &mut signals {
            last();
            end_by(signal);
        }
    });
}

/// The signals of a command that, told to end, still has something to print.
pub struct Termination {
    stop: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Termination {
    /// From now on, signals no longer end the process.
    pub fn listen() -> io::Result<Self> {
        let termination = Self { stop: Arc::default(), signal: Arc::default() };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: who sees that it has to stop sees why.
            flag::register_usize(signal, Arc::clone(&termination.signal), signal as usize)?;
            flag::register(signal, Arc::clone(&termination.stop))?;
        }
        Ok(termination)
    }

    /// Set as soon as one has come.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// The one that has come.
    pub fn signal(&self) -> Option<i32> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

/// Removes what has been written of files that are not whole, and ends by the signal: a shell sees
/// 130 after Ctrl-C.
pub fn end_by(signal: i32) {
    remove_parts();
    let _ = emulate_default_handler(signal);
}
