//! Runs an agent at the edge, to count its costs: `agents SCHEME SETTINGS down|up LOST FLOWS
//! work|state TURNS`. For `benches/agent-costs.sh`.
//!
//! Connections take turns, so that with many of them the next one's state is not in the processor's
//! caches. In its turn, each 100 ms, a sender sends eight segments of 1448 octets; 25 ms later the
//! receiver acknowledges them, two at a time. One segment in LOST is lost on the hop, or none if
//! that is 0; the link layer reports it, the receiver's duplicate ACKs have SACK blocks, and the
//! sender retransmits it in its next turn, unless the agent has.
//!
//! `work` prints how many packets the agent saw in TURNS turns, after all connections have started,
//! and how often it allocated. Callgrind counts only the agent's instructions in them with
//! `--toggle-collect='*counted_call*'`. `state` prints the octets that the agent has allocated, and
//! those that it reports to its budget: with no packet in flight, and with a turn's segments of
//! each connection, in memory like those of a network card.
#![allow(clippy::print_stdout, reason = "a program")]

#[path = "agents/counted.rs"]
mod counted;
#[path = "agents/exchange.rs"]
mod exchange;
#[path = "agents/hosts.rs"]
mod hosts;
#[path = "agents/seated.rs"]
mod seated;

use allocation_counter::measure;
use exchange::{Direction, Exchange};

/// Turns of each connection before the count starts; fewer with very many connections.
const WARM_UP: u32 = 30;
/// Turns of all connections that suffice for that.
const ENOUGH: u32 = 100_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scheme, settings, way, lost, flows, what, turns] = &arguments[..] else {
        panic!("usage: agents SCHEME SETTINGS down|up LOST FLOWS work|state TURNS");
    };
    let number = |text: &String| text.parse::<u32>().unwrap_or_else(|error| panic!("{text}: {error}"));
    let way = if way == "up" { Direction::Up } else { Direction::Down };
    let (lost, flows, turns) = (number(lost), number(flows), number(turns));
    let rounds = WARM_UP.min(ENOUGH / flows).max(1);
    let under_way = |has_octets| {
        let mut exchange = Exchange::new(scheme, settings, way, lost, flows, has_octets);
        exchange.open();
        exchange.take_turns(rounds * flows);
        exchange
    };
    if what == "state" {
        let settled = || {
            let mut exchange = under_way(true);
            exchange.settle();
            exchange
        };
        let (of_idle, said_of_idle) = settled().into_state();
        let mut loaded = settled();
        loaded.send_to_all();
        let (of_loaded, said_of_loaded) = loaded.into_state();
        println!("{of_idle} {said_of_idle} {of_loaded} {said_of_loaded}");
    } else {
        let mut exchange = under_way(false);
        exchange.count(true);
        let allocated = measure(|| exchange.take_turns(turns));
        println!("{} {}", exchange.packets(), allocated.count_total);
        exchange.count(false);
        exchange.settle();
    }
}
