//! Runs the fuzz target of this crate on its corpus and on inputs derived from it.

#[path = "../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../fuzz/src/messages.rs"]
mod targets;

#[test]
fn no_input_breaks_a_rule_of_messages() {
    replay::replay("messages", targets::messages);
}
