//! EBSN (`scenarios/ebsn.toml`).

use crate::claim::{Claim, Effort, Runs, retransmits, timeouts};
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

const SCENARIO: &str = include_str!("../../../../scenarios/ebsn.toml");

const KEEPS_THE_TIMER: &str = "table 2.3: keeps the timer from expiring";

const CLAIMS: [Claim; 5] = [
    Claim::less(KEEPS_THE_TIMER, ("ebsn", "none"), "fewer time-outs", timeouts).by(80.0),
    Claim::less(KEEPS_THE_TIMER, ("ebsn", "none"), "fewer segments sent again", retransmits).by(80.0),
    Claim::more_goodput("section 2.4: prevents slow starts", ("ebsn", "none")),
    Claim::more_goodput("against Snoop", ("ebsn", "snoop as published")),
    Claim::more_goodput("against Snoop", ("ebsn", "snoop")),
];

/// The rows of EBSN.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let runs = Runs::run("relatives", SCENARIO, "", effort, progress)?;
    Ok(CLAIMS.iter().map(|claim| runs.row(claim)).collect())
}
