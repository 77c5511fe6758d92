//! ELN (`scenarios/upload.toml`), with a sender that has its part, and with Linux as it is.

use lasthop_scenario::BuildError;

use crate::claim::{Claim, Effort, Runs};
use crate::progress::Progress;
use crate::reproduce::Row;

const SCENARIO: &str = include_str!("../../../../scenarios/upload.toml");

/// More losses.
const LOSSY: &str = "links.air.loss=5%";

const KNOWS_THE_LOSS: &str = "section 2.4: the sender learns which losses are the hop's";

const CLAIMS: [Claim; 4] = [
    Claim::more_goodput(KNOWS_THE_LOSS, ("ELN", "none")).by(50.0),
    Claim::more_goodput("against Snoop, which leaves uploads alone", ("ELN", "snoop")).by(50.0),
    Claim::more_goodput(
        "table 2.2: notification alone; senders as they are, ours",
        ("undo: timestamp", "none"),
    )
    .by(50.0),
    Claim::more_goodput("section 2.4: no local retransmission; Snoop asks for it", ("snoop: NACK", "ELN")),
];

/// Its rows.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, BuildError> {
    let mut rows = Vec::new();
    for setting in ["", LOSSY] {
        let runs = Runs::of("relatives", SCENARIO, setting, effort, progress)?;
        rows.extend(CLAIMS.iter().map(|claim| runs.row(claim)));
    }
    Ok(rows)
}
