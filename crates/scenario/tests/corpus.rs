//! Runs the fuzz targets of this crate on their corpora, and on inputs made from these.

#[path = "../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../fuzz/src/scenario.rs"]
mod scenario;

use replay::replay;

#[test]
fn no_input_breaks_a_rule_of_scenarios() {
    replay("scenario", scenario::scenario);
}

#[test]
fn no_input_breaks_a_rule_of_sweeps() {
    replay("sweep", scenario::sweep);
}
