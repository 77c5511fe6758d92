//! The same dissertation, chapter 4: C3TCP's numbers beside ours. The figures are lost; what is
//! reproduced is what the text says of them.
//!
//! | module | figures | what is in it |
//! |---|---|---|
//! | [`string`] | 4.11 to 4.19 | four stations in a row with cross traffic |
//! | [`grid`] | 4.21 | twenty stations, a long flow and a short one |
//! | `capacity` | 4.11 | what a path carries by arithmetic |
//! | `row` | | a number of the text's beside ours |
//! | `periods` | | runs cut into periods, and what is measured in each |
//!
//! Figures 4.18 and 4.19 show parts of 4.16 and 4.17.

mod capacity;
pub mod grid;
mod periods;
mod row;
pub mod string;

use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

/// The string once more, with what the text leaves out: whether receivers delay ACKs, and that ns-2 has no
/// routes but those of a routing protocol.
const EXPERIMENTS: [(&str, &[&str]); 3] = [
    ("with delayed ACKs", &["tcp.acks=delayed"]),
    ("with AODV", &["wlans.string.routing=aodv"]),
    (
        "with AODV and ns-2's ratio of the ranges",
        &["wlans.string.routing=aodv", "wlans.string.propagation.carrier-sense=49.5 m"],
    ),
];

/// Runs both scenarios, with `seeds` runs behind each number; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let seeds = seeds.max(2);
    let mut rows = string::rows(seeds, progress)?;
    for (what, settings) in EXPERIMENTS {
        rows.extend(string::experiment(what, settings, seeds, progress)?);
    }
    rows.extend(grid::rows(seeds, progress)?);
    let improvements = rows.iter().filter(|row| row.unit == "percent");
    let signs = improvements.filter_map(Row::sign).collect::<Vec<_>>();
    rows.extend(signs);
    Ok(rows)
}

#[cfg(test)]
mod tests;
