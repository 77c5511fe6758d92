//! Server, gateway and client on this machine, and the daemon itself in the gateway.
#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(unused_imports, reason = "each test program uses a part of it")]

mod daemon;
mod pulse;
mod site;

pub use daemon::Daemon;
pub use pulse::{Beats, Pulse, check, echo, fill, open};
pub use site::{Kind, SERVER, Site, translation};

use std::time::{Duration, Instant};

/// Longer than anything here takes on a machine with other work.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Asserts that this holds before long; returns what it found.
pub fn soon<T>(holds: impl Fn() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match holds() {
            Ok(found) => return found,
            Err(message) => assert!(Instant::now() < deadline, "{message}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
