//! Targets of the crate `lasthop-scenario`.

use std::path::Path;

use lasthop_packet::Instant;
use lasthop_scenario::{Overrides, file};

/// A scenario either has an error with a place, or can be built and started.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match file::parse(text, "fuzz.toml", Path::new("/nonexistent"), &Overrides::default()) {
        Err(error) => {
            assert!(error.to_string().starts_with("fuzz.toml"), "{error}");
            assert!(error.line.is_some() || text.trim().is_empty(), "{error}");
            assert!(error.line.is_none_or(|line| line <= text.lines().count().max(1) + 1), "{error}");
        }
        Ok(scenario) => {
            let seed = scenario.seeds[0];
            let mut built = scenario.build(&scenario.schemes[0], seed).expect("reading has built it once");
            // Not longer: a fast network takes a while for a second.
            built.world.run(Instant::from_nanos(1_000_000), scenario.stop_when_done);
            assert!(built.world.accounts().balance(), "{:?}", built.world.accounts());
        }
    }
}
