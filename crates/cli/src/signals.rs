//! What remains to be done when a signal ends the command.

use lasthop_scenario::results::remove_parts;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// On Ctrl-C and the like: does this last, removes what has been written of files that are not
/// whole, and ends by the signal.
pub fn when_told_to_end(last: impl Fn() + Send + 'static) {
    // Without this a part would stay behind, and nothing else would be wrong.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    std::thread::spawn(move || {
        for signal in &mut signals {
            last();
            remove_parts();
            let _ = emulate_default_handler(signal);
        }
    });
}
