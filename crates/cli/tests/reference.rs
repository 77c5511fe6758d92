//! The reference in the documents is what the code says.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use lasthop_agent::Counter;
use lasthop_agent::counter::{DROP_REASONS, REPORTS};
use lasthop_aodv::AodvCounters;
use lasthop_gateway::counters::{EngineCounters, PacketCounters, Passed};
use lasthop_schemes::catalog::CATALOG;
use lasthop_sim::Counters;

const FILE: &str = "docs/src/reference.md";

#[test]
fn the_reference_is_what_the_code_says() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(FILE);
    let reference = reference();
    if std::env::var_os("LASTHOP_WRITE_DOCS").is_some() {
        fs::write(&path, &reference).expect("a writable repository");
    }
    let text = fs::read_to_string(&path).expect(FILE);
    let advice = "LASTHOP_WRITE_DOCS=1 cargo test -p lasthop-cli --test reference";
    assert!(text == reference, "{FILE} is not what the code says; {advice} writes it");
}

fn reference() -> String {
    let mut text = "# Reference

This page is generated from the code by `crates/cli/tests/reference.rs`, which also tests that it is current.

## Schemes

`lasthop schemes NAME` lists the settings of a scheme. The table is of its default settings.

| scheme | what it does | adds | needs from the link layer | source |
|---|---|---|---|---|
"
    .to_owned();
    for scheme in CATALOG {
        let (places, needs) = (scheme.places(), scheme.needs());
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {places} | {needs} | {} |",
            scheme.name, scheme.title, scheme.source
        );
    }
    text.push_str(
        "
## Counters

| where | which counters |
|---|---|
| `lasthop run --json` (`counters`) | those of agents and of simulations |
| `lasthop gateway status --json` | those of agents and of the gateway; the last three tables have other keys there, such as `received` for `received_frames`, `sent` for `made_packets` and `not_understood` for `not-understood` |
| the gateway's metrics | the same, with the suffix `_total` and the prefix `lasthop_`; the counters of agents have the prefix `lasthop_agent_` for all rules together and `lasthop_rule_` for each rule; reasons are labels |
",
    );
    table(&mut text, "What agents report", REPORTS);
    table(&mut text, "Why agents drop packets", DROP_REASONS);
    text.push_str(
        "\n### What the agents of one scheme report or drop packets for\n\n| scheme | name | what |\n|---|---|---|\n",
    );
    for scheme in CATALOG {
        for Counter { name, about } in scheme.counters {
            let _ = writeln!(text, "| `{}` | `{name}` | {about} |", scheme.name);
        }
    }
    table(&mut text, "What a simulation counts", Counters::COUNTERS);
    text.push_str(
        "
It also accounts for all packets: `packets_originated`, `packets_consumed` (those that reached their destination),
`packets_absorbed` (those that an agent took over) and `dropped_CAUSE`, such as `dropped_queue_full` and
`dropped_wireless_loss`. `packets_in_transit` and `packets_held_by_agents` are those at the end of the run.
With a `warm-up`, packets in transit at its end count where they end, and not as originated.
`packets_marked_ce` is present with a queue that can mark, `packets_duplicated` and `packets_corrupted` if links delivered second copies or wrong bits, `packets_unselected` if packets passed around a link because of its `only` and `except`, `connections_reset` and `connections_refused` if a link cut TCP connections because of its
`connections`,
`packets_broadcast` and `broadcasts_heard` with AODV.
",
    );
    table(&mut text, "What AODV's nodes count", AodvCounters::COUNTERS);
    table(&mut text, "What a gateway counts of an agent's packets", PacketCounters::COUNTERS);
    table(&mut text, "What a gateway counts", EngineCounters::COUNTERS);
    table(&mut text, "Why frames pass a gateway without an agent seeing them", Passed::COUNTERS);
    text
}

fn table(text: &mut String, title: &str, counters: &[&Counter]) {
    let _ = write!(text, "\n### {title}\n\n| name | what |\n|---|---|\n");
    for Counter { name, about } in counters {
        let _ = writeln!(text, "| `{name}` | {about} |");
    }
}
