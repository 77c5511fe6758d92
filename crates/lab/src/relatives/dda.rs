//! DDA (`scenarios/dda.toml`), with a sender of its time and with Linux.

use crate::claim::{Claim, Effort, Runs, retransmits, timeouts};
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

const SCENARIO: &str = include_str!("../../../../scenarios/dda.toml");

/// A hop so slow that the transmission of a frame takes longer than a repair.
const SLOW: &str = "links.air.rate=200 kbit/s";
/// A queue that overflows.
const SHORT_QUEUE: &str = "links.air.queue=10 packets";
const LINUX: &str = "tcp={ preset = 'linux' }";

const LIKE_SNOOP: &str = "section 2.4: equivalent to Snoop";

/// Claims with a sender of its time.
const CLAIMS: [Claim; 4] = [
    Claim::more_goodput("table 2.2: local retransmissions at the link layer", ("dda", "none")),
    Claim::less(
        "section 2.4: the sender does not repeat what the link layer repairs",
        ("dda", "none"),
        "fewer segments sent again",
        retransmits,
    )
    .by(80.0),
    Claim::more_goodput(LIKE_SNOOP, ("dda", "snoop as published")).by_about(0.0, 5.0),
    Claim::more_goodput(LIKE_SNOOP, ("dda", "snoop")).by_about(0.0, 5.0),
];

/// DDA's gain there is close to zero.
const ON_A_SLOW_HOP: [Claim; 1] =
    [Claim::more_goodput("table 2.2: poor performance on slow links", ("none", "dda")).by(-1.0)];

/// The queue loses packets, which no link layer repairs.
const WITH_A_SHORT_QUEUE: [Claim; 2] = [
    Claim::more_goodput("table 2.2: d is difficult to choose", ("dda", "dda (d = 400 ms)")).by(10.0),
    Claim::less("table 2.2: can cause time-outs", ("none", "dda"), "fewer time-outs", timeouts).by(50.0),
];

/// Linux adapts to reordering.
const BEFORE_LINUX: [Claim; 3] = [
    Claim::more_goodput("table 2.2: local retransmissions at the link layer", ("dda", "none")),
    Claim::more_goodput(LIKE_SNOOP, ("dda", "snoop as published")).by_about(0.0, 5.0),
    Claim::more_goodput(LIKE_SNOOP, ("dda", "snoop")).by_about(0.0, 5.0),
];

/// The rows of DDA.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let parts: [(&'static str, &[Claim]); 4] =
        [("", &CLAIMS), (SLOW, &ON_A_SLOW_HOP), (SHORT_QUEUE, &WITH_A_SHORT_QUEUE), (LINUX, &BEFORE_LINUX)];
    let mut rows = Vec::new();
    for (setting, claims) in parts {
        let runs = Runs::run("relatives", SCENARIO, setting, effort, progress)?;
        let claims = claims.iter().map(|claim| runs.row(claim));
        // The papers' senders are of their time.
        rows.extend(claims.map(|row| if setting == LINUX { row.as_alternative() } else { row }));
    }
    Ok(rows)
}
