//! Runs the fuzz target of this crate on its corpus, and on inputs made from that.

#[path = "../../../fuzz/src/octets.rs"]
mod octets;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../fuzz/src/wlan.rs"]
mod wlan;

#[test]
fn no_input_breaks_a_law_of_cells() {
    replay::replay("wlan", wlan::wlan);
}
