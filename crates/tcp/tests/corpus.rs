//! Runs the fuzz target of this crate on its corpus, and on inputs made from that.

#[path = "../../../fuzz/src/endpoint.rs"]
mod endpoint;
#[path = "../../../fuzz/src/octets.rs"]
mod octets;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

#[test]
fn no_input_breaks_a_law_of_endpoints() {
    replay::replay("tcp_endpoint", endpoint::tcp_endpoint);
}
