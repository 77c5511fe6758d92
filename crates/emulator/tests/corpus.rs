//! Runs the fuzz target of this crate on its corpus and on inputs made from that.

#[path = "../../../fuzz/src/changes.rs"]
mod changes;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

#[test]
fn no_input_breaks_a_rule_of_changes_to_links() {
    replay::replay("link_changes", changes::link_changes);
}
