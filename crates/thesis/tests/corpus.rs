//! Runs the fuzz targets of this crate on their corpora, and on inputs made from these.

#[path = "../../../fuzz/src/datafile.rs"]
mod datafile;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn no_input_breaks_a_rule_of_data_files() {
    replay("datafile", datafile::datafile);
}

#[test]
fn no_input_breaks_a_rule_of_link_states() {
    replay("state_trace", datafile::state_trace);
}
