//! WTCP (`scenarios/wtcp.toml`), with Linux and with a sender of its time, which measures
//! round-trip times by timestamps.

use crate::claim::{Claim, Effort, Runs, round_trip};
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

const SCENARIO: &str = include_str!("../../../../scenarios/wtcp.toml");

/// NewReno with timestamps, and no SACK.
const OF_ITS_TIME: &str = "tcp={ recovery = 'newreno', timestamps = true, window = '256 KiB' }";

const LIKE_SNOOP: &str = "section 2.5: like Snoop, and more";
const ROUND_TRIP_IS_TRUE: &str = "table 2.2: a more accurate round trip";
const NOTHING_HIDDEN: &str = "wtcp (nothing hidden)";

/// Claims with both senders.
const GOODPUT: [Claim; 3] = [
    Claim::more_goodput("table 2.2: local retransmissions", ("wtcp", "none")),
    Claim::more_goodput(LIKE_SNOOP, ("wtcp", "snoop as published")),
    Claim::more_goodput(LIKE_SNOOP, ("wtcp", "snoop")).by(-5.0),
];

/// Claims with a sender that measures by timestamps.
const ROUND_TRIP: [Claim; 2] = [
    Claim::less(
        ROUND_TRIP_IS_TRUE,
        ("wtcp (residence hidden)", NOTHING_HIDDEN),
        "shorter mean round trip",
        round_trip,
    ),
    Claim::less(ROUND_TRIP_IS_TRUE, ("wtcp", NOTHING_HIDDEN), "shorter mean round trip", round_trip),
];

/// The rows of WTCP.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let linux = Runs::run("relatives", SCENARIO, "", effort, progress)?;
    let of_its_time = Runs::run("relatives", SCENARIO, OF_ITS_TIME, effort, progress)?;
    let mut rows: Vec<Row> = GOODPUT.iter().map(|claim| linux.row(claim).as_alternative()).collect();
    rows.extend(GOODPUT.iter().chain(&ROUND_TRIP).map(|claim| of_its_time.row(claim)));
    Ok(rows)
}
