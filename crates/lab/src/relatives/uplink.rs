//! Snoop's uplink half (`scenarios/upload.toml`), with Linux and with a sender of its time, both
//! with SACK; negative acknowledgments are an option of their own.

use crate::claim::{Claim, Effort, Runs, window_reductions};
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

const SCENARIO: &str = include_str!("../../../../scenarios/upload.toml");

const OF_ITS_TIME: &str = "tcp={ recovery = 'sack', timestamps = true, window = '256 KiB' }";

const RECOVERS: &str = "section 2.4: negative acknowledgments improve the recovery of uploads";

const CLAIMS: [Claim; 3] = [
    Claim::more_goodput(RECOVERS, ("snoop: NACK", "none")).by(50.0),
    Claim::more_goodput("against Snoop without them", ("snoop: NACK", "snoop")).by(50.0),
    Claim::less(RECOVERS, ("snoop: NACK", "none"), "fewer window reductions", window_reductions).by(50.0),
];

/// The rows of Snoop's uplink half.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let mut rows = Vec::new();
    for setting in ["", OF_ITS_TIME] {
        let runs = Runs::run("relatives", SCENARIO, setting, effort, progress)?;
        let claims = CLAIMS.iter().map(|claim| runs.row(claim));
        rows.extend(claims.map(|row| if setting.is_empty() { row.as_alternative() } else { row }));
    }
    Ok(rows)
}
