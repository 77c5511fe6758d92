//! An agent at the edge between ends that answer, for counting what it costs: `edge_costs SCHEME
//! SETTINGS down|up LOST FLOWS TURNS`. For `benches/edge-costs.sh`.
//!
//! Unlike in `crates/schemes/examples/agents.rs`, both ends of each connection are TCP endpoints as
//! in Linux, so that a split, which is an end to both, can be counted, too. Connections take turns,
//! each once in 100 ms: the sender writes eight segments of 1448 octets. The wire takes 10 ms and
//! the hop 2 ms one way. One data segment in LOST is lost on the hop, or none where that is 0.
//!
//! Prints how many packets came to the edge in TURNS turns, once every connection is under way, and
//! how many segments of data the receivers got. Callgrind counts the agent's instructions in them
//! alone with `--toggle-collect='*counted_call*'`.
#![allow(clippy::print_stdout, reason = "a program")]

#[path = "../../schemes/examples/agents/counted.rs"]
mod counted;
#[path = "edge_costs/edge.rs"]
mod edge;
#[path = "edge_costs/exchange.rs"]
mod exchange;
#[path = "edge_costs/hosts.rs"]
mod hosts;

use exchange::{Exchange, Way};

/// Turns that each connection has before anything is counted; fewer with very many.
const WARM_UP: u32 = 30;
/// Turns of all connections that are enough for that.
const ENOUGH: u32 = 100_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scheme, settings, way, lost, flows, turns] = &arguments[..] else {
        panic!("usage: edge_costs SCHEME SETTINGS down|up LOST FLOWS TURNS");
    };
    let number = |text: &String| text.parse::<u32>().unwrap_or_else(|error| panic!("{text}: {error}"));
    let way = if way == "up" { Way::Up } else { Way::Down };
    let (lost, flows, turns) = (number(lost), number(flows), number(turns));
    let mut exchange = Exchange::new(scheme, settings, way, lost, flows);
    exchange.take_turns(WARM_UP.min(ENOUGH / flows).max(2) * flows);
    exchange.count();
    exchange.take_turns(turns);
    println!("{} {}", exchange.packets(), exchange.segments());
}
