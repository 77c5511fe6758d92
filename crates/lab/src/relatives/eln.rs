//! ELN (`scenarios/upload.toml`), with a sender that implements ELN, and with an unmodified Linux.

use crate::claim::{Claim, Effort, Runs, window_reductions};
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

const SCENARIO: &str = include_str!("../../../../scenarios/upload.toml");

/// NewReno with timestamps, which the base station needs to tell a loss from congestion, and no
/// SACK.
const OF_ITS_TIME: &str = "tcp={ recovery = 'newreno', timestamps = true, window = '256 KiB' }";

/// Claims with both senders.
const CLAIMS: [Claim; 3] = [
    Claim::more_goodput("section 2.4: the sender learns which losses are the hop's", ("ELN", "none"))
        .by(50.0),
    Claim::more_goodput("against Snoop, which does not accelerate uploads", ("ELN", "snoop")).by(50.0),
    Claim::less(
        "section 2.4: the sender chooses its reaction",
        ("ELN", "none"),
        "fewer window reductions",
        window_reductions,
    )
    .by(50.0),
];

const BEFORE_LINUX: [Claim; 2] = [
    Claim::more_goodput(
        "table 2.2: ELN changes TCP; for unchanged senders, the variant of this project",
        ("undo: timestamp", "none"),
    )
    .by(50.0),
    Claim::more_goodput("section 2.4: no local retransmission; Snoop asks for one", ("snoop: NACK", "ELN")),
];

/// The rows of ELN.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let linux = Runs::run("relatives", SCENARIO, "", effort, progress)?;
    let of_its_time = Runs::run("relatives", SCENARIO, OF_ITS_TIME, effort, progress)?;
    let mut rows: Vec<Row> = CLAIMS.iter().map(|claim| linux.row(claim).as_alternative()).collect();
    rows.extend(BEFORE_LINUX.iter().map(|claim| linux.row(claim)));
    rows.extend(CLAIMS.iter().map(|claim| of_its_time.row(claim)));
    Ok(rows)
}
