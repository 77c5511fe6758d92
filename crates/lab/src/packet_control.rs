//! TCP packet control: the three scenarios of the paper as surveyed by Sonia and Malhotra
//! (International Journal of Computer Science and Information Technology Research 2(3), 2014).
//!
//! Its figures are lost; the claims are those of the text. It names no rates, queues or windows;
//! `scenarios/packet-control` has our choices and their reasons.

use lasthop_schemes::packet_control::REPEATED_DATA;

use crate::claim::{Claim, Effort, Runs, window_reductions};
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::{RunError, RunSummary};

const DELAY_VARIATION: &str = include_str!("../../../scenarios/packet-control/delay-variation.toml");
const DELAY_SPIKE: &str = include_str!("../../../scenarios/packet-control/delay-spike.toml");

/// The tolerance between curves that overlap, in percent.
const OVERLAP: f64 = 5.0;
/// The tolerance around the paper's rounded improvements, in percentage points.
const TOLERANCE: f64 = 15.0;

const REDUCTIONS: &str = "scenario I: the higher the threshold, the fewer reductions of cwnd";
const FEWER: &str = "fewer reductions of cwnd";

const OF_SCENARIO_1: [Claim; 6] = [
    Claim::more_goodput("scenario I: threshold 3 overlaps none", ("threshold 3", "none"))
        .by_about(0.0, OVERLAP),
    Claim::less(REDUCTIONS, ("threshold 6", "threshold 3"), FEWER, window_reductions),
    Claim::less(REDUCTIONS, ("threshold 9", "threshold 6"), FEWER, window_reductions),
    Claim::less(REDUCTIONS, ("threshold 12", "threshold 9"), FEWER, window_reductions),
    Claim::less(REDUCTIONS, ("threshold 12", "none"), FEWER, window_reductions),
    Claim::more_goodput("scenario I: goodput at an appropriate threshold", ("threshold 12", "none"))
        .by_about(100.0, TOLERANCE),
];

const OF_SCENARIO_2: [Claim; 1] =
    [Claim::more_goodput("scenario II: goodput with 1% loss", ("threshold 9", "none"))
        .by_about(30.0, TOLERANCE)];

const SOONER: Claim =
    Claim::more_goodput("scenario III: the sender recovers sooner", ("packet-control", "none"));

const OF_SCENARIO_3: [Claim; 2] = [
    Claim::less(
        "section 3.B.2: needless retransmissions stay off the hop",
        ("packet-control", "none"),
        "fewer segments that cross again",
        repeated_on_the_hop,
    ),
    SOONER,
];

/// Many, since a run of 20 s has only a few reductions, and its goodput varies by a fifth.
const RUNS_PER_SEED: u64 = 20;

/// Runs everything, with `20 * seeds` runs for each number.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    rows(Effort { seeds: seeds.saturating_mul(RUNS_PER_SEED).max(2), duration: None }, progress)
}

fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let runs = |text, setting| Runs::run("packet-control", text, setting, effort, progress);
    // Nothing is random in this scenario.
    let one = Effort { seeds: 2, ..effort };
    let spike = |setting| Runs::run("packet-control", DELAY_SPIKE, setting, one, progress);
    let of_each = [
        (runs(DELAY_VARIATION, "")?, OF_SCENARIO_1.as_slice()),
        (runs(DELAY_VARIATION, "links.air.loss=1%")?, &OF_SCENARIO_2),
        (spike("")?, &OF_SCENARIO_3),
    ];
    let mut rows: Vec<Row> =
        of_each.iter().flat_map(|(runs, claims)| claims.iter().map(|claim| runs.row(claim))).collect();
    rows.extend(rows.iter().filter_map(Row::sign).collect::<Vec<_>>());
    // With so few segments in flight the sender gets too few duplicate ACKs to send more in
    // recovery.
    rows.push(spike("tcp.window=10 segments")?.row(&SOONER).as_alternative());
    Ok(rows)
}

/// Segments that crossed the hop after they, or a copy, had crossed it before.
fn repeated_on_the_hop(run: &RunSummary) -> f64 {
    run.aggregate.retransmits.saturating_sub(run.count(&REPEATED_DATA)) as f64
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lasthop_scenario::model::Link;
    use lasthop_scenario::{Overrides, Scenario, file};

    use super::*;
    use crate::progress::Silent;
    use crate::run::run;

    #[test]
    fn the_claims_about_delay_variation_hold() {
        // Except the duration of scenario III, which docs/src/validation/packet-control.md
        // explains.
        for row in rows(Effort { seeds: 100, duration: None }, &Silent).expect("it runs") {
            let is_explained =
                row.item == "scenario III: the sender recovers sooner" && row.parameters.len() == 2;
            assert!(row.agrees != is_explained, "{row:?}");
        }
    }

    #[test]
    fn the_duplicate_rule_alone_changes_nothing_at_threshold_3() {
        // ACKs keep their order; none is old.
        let settings = [
            r#"schemes=["none", { scheme = "packet-control", preset = "published", threshold = 3, data-filter = false }]"#,
            "links.air.backward={ order = 'kept' }",
        ];
        let overrides = Overrides { settings: settings.map(str::to_owned).to_vec(), ..Overrides::default() };
        let scenario =
            file::parse(DELAY_VARIATION, "x.toml", Path::new("."), &overrides).expect("it is ours");
        for seed in 1..=20 {
            let [without, with] = [0, 1].map(|choice| {
                let summary = run(&scenario, &scenario.schemes[choice], seed, &Silent).expect("it runs");
                let flow = &summary.flows[0];
                (flow.bytes, flow.duplicate_acks, flow.retransmits, summary.counters["packets_originated"])
            });
            assert_eq!(without, with, "seed {seed}");
            assert!(with.1 > Some(10), "there are duplicates");
        }
    }

    #[test]
    fn the_delays_are_those_of_the_table() {
        let scenario = |text: &str| {
            let path =
                Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/packet-control/x.toml"));
            file::parse(text, "x.toml", path.parent().expect("a file"), &Overrides::default()).expect("ours")
        };
        let from_table = {
            let end = DELAY_VARIATION.find("[[changes]]").expect("there are changes");
            let changes = "[[changes]]\nat = \"0.5 s\"\nset = { \"links.air.delay\" = { table = \"../packet-control-delays.csv\" } }\n";
            scenario(&format!("{}{changes}", &DELAY_VARIATION[..end]))
        };
        let delay = |scenario: Scenario| match &scenario.changes[0].model.link {
            Link::Wireless { config, .. } => config.forward.delay.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(delay(scenario(DELAY_VARIATION)), delay(from_table));
    }
}
