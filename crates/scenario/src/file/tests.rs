//! Reading scenarios, and the errors about wrong ones: file, line, key, and the expected value.

mod ad_hoc;
mod bad_keys;
mod bad_meaning;
mod bad_octets;
mod changes;
mod cuts;
mod delays;
mod flavours;
mod good;
mod groups;
mod overrides;
mod power_save;
mod queues;
mod selections;
mod sessions;
mod settings;
mod sweeps;
mod traffic;
mod wlans;

use std::path::Path;

use super::{FileError, Overrides, parse};
use crate::model::Scenario;

/// A small valid scenario; tests replace a line of it.
const GOOD: &str = r#"schemes = ["none", { scheme = "snoop", label = "s" }]
seeds = 2
[nodes.server]
kind = "host"
[nodes.ap]
kind = "router"
[nodes.phone]
kind = "host"
[links.wire]
between = ["server", "ap"]
rate = "10 Mbit/s"
[links.air]
kind = "wireless"
between = ["ap", "phone"]
rate = "2 Mbit/s"
link-layer = { kind = "stop-and-wait" }
[links.air.channel]
good = { mean = "5 s" }
bad = { mean = "1 s" }
[flows.download]
from = "server"
to = "phone"
[tcp]
window = "64 KiB"
"#;

fn read(text: &str) -> Result<Scenario, FileError> {
    parse(text, "x.toml", Path::new("."), &Overrides::default())
}

/// The error about `GOOD` with one thing replaced.
#[track_caller]
fn spoilt(right: &str, wrong: &str) -> String {
    assert!(GOOD.contains(right), "{right}");
    error(&GOOD.replacen(right, wrong, 1))
}

#[track_caller]
fn error(text: &str) -> String {
    read(text).expect_err("a wrong scenario").to_string()
}

/// Checks the place and a part of the message of each replacement's error.
#[track_caller]
fn check(cases: &[(&str, &str, &str, &str)]) {
    for (right, wrong, place, says) in cases {
        let error = spoilt(right, wrong);
        assert!(error.starts_with(&format!("x.toml:{place}: ")), "{wrong}: expected {place} in: {error}");
        assert!(error.contains(says), "{wrong}: expected {says:?} in: {error}");
    }
}
