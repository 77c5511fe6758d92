//! An agent at the edge between two TCP endpoints, to count its instructions: `edge_costs SCHEME
//! SETTINGS down|up LOST FLOWS TURNS`. For `benches/edge-costs.sh`.
//!
//! Unlike in `crates/schemes/examples/agents.rs`, both ends of each connection are TCP endpoints as
//! in Linux, so that a split, which is the peer of both, can be counted, too. Connections take
//! turns, each once in 100 ms: the sender writes eight segments of 1448 octets. The one-way delay
//! is 10 ms on the wire and 2 ms on the hop. One data segment in LOST is lost on the hop; none if
//! LOST is 0.
//!
//! Prints the number of packets that arrived at the edge in TURNS turns, after a warm-up of every
//! connection, and the number of data segments that the receivers got. Callgrind counts only the
//! agent's instructions for them with `--toggle-collect='*counted_call*'`.
#![allow(clippy::print_stdout, reason = "a program")]

#[path = "../../schemes/examples/agents/counted.rs"]
mod counted;
#[path = "edge_costs/edge.rs"]
mod edge;
#[path = "edge_costs/exchange.rs"]
mod exchange;
#[path = "edge_costs/hosts.rs"]
mod hosts;

use exchange::{Direction, Exchange};

/// Turns of each connection before counting begins; fewer with very many connections.
const WARM_UP: u32 = 30;
/// Maximum number of these turns of all connections.
const MAX_WARM_UP: u32 = 100_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scheme, settings, direction, lost, flows, turns] = &arguments[..] else {
        panic!("usage: edge_costs SCHEME SETTINGS down|up LOST FLOWS TURNS");
    };
    let number = |text: &String| text.parse::<u32>().unwrap_or_else(|error| panic!("{text}: {error}"));
    let direction = if direction == "up" { Direction::Up } else { Direction::Down };
    let (lost, flows, turns) = (number(lost), number(flows), number(turns));
    let mut exchange = Exchange::new(scheme, settings, direction, lost, flows);
    exchange.take_turns(WARM_UP.min(MAX_WARM_UP / flows).max(2) * flows);
    exchange.count();
    exchange.take_turns(turns);
    println!("{} {}", exchange.packets(), exchange.segments());
}
