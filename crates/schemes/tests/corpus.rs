//! Runs the fuzz targets of this crate on their corpora, and on inputs derived from these.

#[path = "../../../fuzz/src/agents/mod.rs"]
mod agents;
#[path = "../../../fuzz/src/as_tcp.rs"]
mod as_tcp;
#[path = "../../../fuzz/src/datagrams.rs"]
mod datagrams;
#[path = "../../../fuzz/src/ends.rs"]
mod ends;
#[path = "../../../fuzz/src/octets.rs"]
mod octets;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../fuzz/src/splits.rs"]
mod splits;

use replay::replay;

#[test]
fn no_input_violates_an_invariant_of_agents() {
    replay("agents", agents::agents);
}

#[test]
fn no_input_breaks_a_rule_of_calls() {
    replay("datagrams", datagrams::datagrams);
}

#[test]
fn no_input_breaks_a_split() {
    replay("splits", splits::splits);
}

#[test]
fn no_input_breaks_a_stream_of_as_tcp() {
    replay("as_tcp", as_tcp::as_tcp);
}
