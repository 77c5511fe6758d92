//! The same dissertation, chapter 4: C3TCP's numbers beside ours. The figures are lost; the numbers
//! and claims are those of the text.
//!
//! | module | figures | what is in it |
//! |---|---|---|
//! | [`string`] | 4.11 to 4.19 | four stations in a row with cross traffic |
//! | [`grid`] | 4.21 | twenty stations, a long flow and a short one |
//! | `capacity` | 4.11 | the calculated capacity of a path |
//! | `row` | | a number of the text beside ours |
//! | `periods` | | runs divided into periods, and the results of each |
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

/// Alternatives for the string, where the text says nothing: whether receivers delay ACKs, and the
/// routing protocol, without which ns-2 has no routes.
const EXPERIMENTS: [(&str, &[&str]); 3] = [
    ("with delayed ACKs", &["tcp.acks=delayed"]),
    ("with AODV", &["wlans.string.routing=aodv"]),
    (
        "with AODV and ns-2's ratio of the ranges",
        &["wlans.string.routing=aodv", "wlans.string.propagation.carrier-sense=49.5 m"],
    ),
];

/// Runs both scenarios, with `seeds` runs for each number; at least 2.
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
mod tests {
    use super::*;
    use crate::progress::Silent;
    use crate::reproduce::Reference;

    fn find<'a>(rows: &'a [Row], metric: &str, scheme: &str) -> &'a Row {
        rows.iter().find(|row| row.metric == metric && row.scheme == scheme).expect("there is such a row")
    }

    #[test]
    fn the_stations_measure_what_the_path_carries_and_queues_stay_short() {
        let rows = string::rows(2, &Silent).expect("it runs");
        let bandwidth: Vec<_> = rows.iter().filter(|row| row.item == "figure 4.11").collect();
        assert_eq!(bandwidth.len(), 2);
        for row in bandwidth {
            assert!(row.measured.is_some_and(|ratio| (0.8..1.2).contains(&ratio)), "{row:?}");
        }
        // Without cross traffic and with a window that is not smoothed, they are as with TCP.
        let has_cross_traffic =
            |row: &&Row| row.parameters.get("cross_traffic").is_none_or(|with| with == true);
        for row in rows.iter().filter(|row| row.item == "figure 4.12").filter(has_cross_traffic) {
            assert!(row.agrees, "{row:?}");
        }
        assert!(find(&rows, "longest queue of N2 with cross traffic", "c3tcp").agrees);
    }

    #[test]
    fn the_two_flows_of_the_grid_share_what_the_text_says_within_a_fifth() {
        let rows = grid::rows(2, &Silent).expect("it runs");
        for row in rows.iter().filter(|row| row.scheme == "tcp") {
            let Reference::Number(published) = row.published else { panic!("{row:?}") };
            assert!(row.measured.is_some_and(|ours| (ours / published - 1.0).abs() < 0.2), "{row:?}");
        }
    }
}
