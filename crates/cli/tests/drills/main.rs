//! Fault drills: what happens to other people's connections when something goes wrong with the gateway. Need root; skipped loudly elsewhere.
//!
//! `cargo test -p lasthop-cli --test drills -- --nocapture` prints what was measured.
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]
#![allow(clippy::print_stderr, reason = "what was measured is said")]

mod bounds;
mod commands;
mod deaths;
mod frames;
#[path = "../hosts/mod.rs"]
mod hosts;
mod ports;
mod reload;
mod starts;
mod starved;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One drill at a time: what they measure is time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A drill that failed is no reason for the next one to.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
