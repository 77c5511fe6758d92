//! Runs the fuzz target of this crate on its corpus, and on inputs made from that.

#[path = "../../../fuzz/src/capacity.rs"]
mod capacity;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

#[test]
fn no_input_breaks_a_rule_of_capacity_traces() {
    replay::replay("capacity_trace", capacity::capacity_trace);
}
