//! WTCP (`scenarios/wtcp.toml`), before Linux and before a sender of its time, which measures the
//! round trip by timestamps.

use lasthop_scenario::BuildError;

use super::claim::{Claim, Effort, Runs, Way, goodput, round_trip};
use crate::progress::Progress;
use crate::reproduce::Row;

const SCENARIO: &str = include_str!("../../../../scenarios/wtcp.toml");

/// NewReno with timestamps, and no SACK.
const OF_ITS_TIME: &str = "tcp={ recovery = 'newreno', timestamps = true, window = '256 KiB' }";

/// Before both senders.
const GOODPUT: [Claim; 3] = [
    Claim {
        item: "table 2.2: local retransmissions",
        schemes: ("wtcp", "none"),
        metric: "more goodput",
        of: goodput,
        way: Way::More,
        least: 0.0,
    },
    Claim {
        item: "section 2.6: like Snoop, and more",
        schemes: ("wtcp", "snoop as published"),
        metric: "more goodput",
        of: goodput,
        way: Way::More,
        least: 0.0,
    },
    Claim {
        item: "section 2.6: like Snoop, and more",
        schemes: ("wtcp", "snoop"),
        metric: "more goodput, or as much but for 5%",
        of: goodput,
        way: Way::More,
        least: -5.0,
    },
];

/// Where the sender measures by timestamps.
const ROUND_TRIP: [Claim; 2] = [
    Claim {
        item: "table 2.2: a more accurate round trip",
        schemes: ("wtcp (residence hidden)", "wtcp (nothing hidden)"),
        metric: "shorter mean round trip",
        of: round_trip,
        way: Way::Less,
        least: 0.0,
    },
    Claim {
        item: "table 2.2: a more accurate round trip",
        schemes: ("wtcp", "wtcp (nothing hidden)"),
        metric: "shorter mean round trip",
        of: round_trip,
        way: Way::Less,
        least: 0.0,
    },
];

/// Its rows.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, BuildError> {
    let linux = Runs::of(SCENARIO, "", effort, progress)?;
    let of_its_time = Runs::of(SCENARIO, OF_ITS_TIME, effort, progress)?;
    let mut rows: Vec<Row> = GOODPUT.iter().map(|claim| linux.row(claim)).collect();
    rows.extend(GOODPUT.iter().chain(&ROUND_TRIP).map(|claim| of_its_time.row(claim)));
    Ok(rows)
}
