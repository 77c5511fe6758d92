//! Targets of the crate `lasthop-scenario`.

use std::path::Path;

use lasthop_packet::Instant;
use lasthop_scenario::{Overrides, Sweep, file};

/// A scenario either has an error with a place, or can be built and started.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match file::parse(text, "fuzz.toml", Path::new("/nonexistent"), &Overrides::default()) {
        Err(error) => {
            assert!(error.to_string().starts_with("fuzz.toml"), "{error}");
            assert!(error.line.is_some() || text.trim().is_empty(), "{error}");
            assert!(error.line.is_none_or(|line| line <= text.lines().count().max(1) + 1), "{error}");
            assert_is_a_line(&error.to_string());
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

/// A sweep of a committed scenario either has an error with a place, or points that can be built
/// or say why not.
pub fn sweep(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A sweep may name any file; only the one that is committed for this is to be read.
    if !text.contains("\"swept-scenario.toml\"") || text.contains('/') || text.contains('\\') {
        return;
    }
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join(SWEPT);
    match Sweep::parse(text, "fuzz.toml", &base, &Overrides::default()) {
        Err(error) => {
            assert!(error.to_string().contains(".toml"), "{error}");
            assert_is_a_line(&error.to_string());
        }
        Ok(sweep) => {
            assert!((1..=100_000).contains(&sweep.len()));
            assert!(sweep.point(sweep.len()).is_none());
            // The first ones, and the last one.
            for index in (0..sweep.len().min(MAX_POINTS)).chain([sweep.len() - 1]) {
                assert_eq!(sweep.values(index).len(), sweep.parameters().count());
                match sweep.point(index).expect("the sweep has this point") {
                    Ok(scenario) => {
                        scenario.build(&scenario.schemes[0], 1).expect("reading has built it once");
                    }
                    Err(error) => assert_is_a_line(&error.to_string()),
                }
            }
        }
    }
}

/// Points of a sweep that are built.
const MAX_POINTS: usize = 8;

/// A message is one line of a terminal: what a file says cannot put control characters there.
fn assert_is_a_line(message: &str) {
    assert!(message.len() < 4000, "{message}");
    assert!(!message.contains(char::is_control), "{message:?}");
}

/// Where the scenario stands that is swept: from the fuzz package, and from the crate whose tests
/// replay the corpus.
const SWEPT: &str = if cfg!(test) { "../../fuzz/corpus" } else { "corpus" };
