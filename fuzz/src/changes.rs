//! What is asked of an emulation.

use std::path::PathBuf;

use lasthop_emulator::control::parse_assignments;
use lasthop_scenario::{FurtherFiles, Overrides, Settings};

/// A request to change links is refused with a reason and changes nothing, or all of it is in
/// force.
pub fn link_changes(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let assignments = match parse_assignments(&lines) {
        Ok(assignments) => assignments,
        Err(why) => return assert!(why.contains("expected KEY=VALUE"), "{why}"),
    };
    let overrides = Overrides::default();
    let settings =
        Settings::parse(EMULATED.to_owned(), "swept-scenario.toml".to_owned(), PathBuf::new(), &overrides);
    let mut settings = settings.expect("it is right");
    let before = settings.scenario().clone();
    match settings.set(&assignments, FurtherFiles::None) {
        Err(error) => {
            assert!(!error.problem.is_empty());
            assert!(
                before.changes_of_links(settings.scenario()).is_empty(),
                "refused, and in force: {error}"
            );
        }
        Ok(old) => {
            assert!(before.changes_of_links(&old).is_empty());
            let changed = settings.scenario().clone();
            settings.set(&assignments, FurtherFiles::None).expect("what was set can be set again");
            assert!(changed.changes_of_links(settings.scenario()).is_empty());
            changed.build(&changed.schemes[0], 1).expect("reading has built it once");
        }
    }
}

const EMULATED: &str = include_str!("../corpus/swept-scenario.toml");
