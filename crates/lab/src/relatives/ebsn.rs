//! EBSN (`scenarios/ebsn.toml`).

use lasthop_scenario::BuildError;

use super::claim::{Claim, Effort, Runs, Way, goodput, retransmits, timeouts};
use crate::progress::Progress;
use crate::reproduce::Row;

const SCENARIO: &str = include_str!("../../../../scenarios/ebsn.toml");

const CLAIMS: [Claim; 5] = [
    Claim {
        item: "table 2.3: keeps the timer from expiring",
        schemes: ("ebsn", "none"),
        metric: "fewer time-outs",
        of: timeouts,
        way: Way::Less,
        least: 80.0,
    },
    Claim {
        item: "table 2.3: keeps the timer from expiring",
        schemes: ("ebsn", "none"),
        metric: "fewer segments sent again",
        of: retransmits,
        way: Way::Less,
        least: 80.0,
    },
    Claim {
        item: "section 2.4: prevents slow starts",
        schemes: ("ebsn", "none"),
        metric: "more goodput",
        of: goodput,
        way: Way::More,
        least: 0.0,
    },
    Claim {
        item: "against Snoop",
        schemes: ("ebsn", "snoop as published"),
        metric: "more goodput",
        of: goodput,
        way: Way::More,
        least: 0.0,
    },
    Claim {
        item: "against Snoop",
        schemes: ("ebsn", "snoop"),
        metric: "more goodput",
        of: goodput,
        way: Way::More,
        least: 0.0,
    },
];

/// Its rows.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, BuildError> {
    let runs = Runs::of(SCENARIO, "", effort, progress)?;
    Ok(CLAIMS.iter().map(|claim| runs.row(claim)).collect())
}
