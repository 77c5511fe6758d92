//! Kliazovich, "Cross-Layer Performance Optimization in Wireless Local Area Networks",
//! dissertation, University of Trento 2006, chapter 3: LLE-TCP's numbers beside ours. The figures
//! are lost; the numbers and claims are those of the text.
//!
//! | module | figures | what is in it |
//! |---|---|---|
//! | [`single_hop`] | 3.7 | two stations, datagrams of 100 to 1500 octets |
//! | [`errors`] | 3.9, 3.13 | packet errors on one hop and on three hops, by the receiver's ACK policy |
//! | [`multi_hop`] | 3.10 to 3.12 | a string of one to ten hops; thirty stations that walk, and AODV |
//! | [`infrastructure`] | 3.14 to 3.17 | a server and an access point; ten flows; two sets of five |
//!
//! Not here: figure 3.8 (a testbed of two laptops). Chapter 4 is a paper of its own on the command
//! line: [`c3tcp`].
//!
//! The scenario file of a group of figures states what the dissertation leaves open, our choice and
//! its reason. Items with a suffix after the figure's number are experiments with an alternative
//! choice; `docs/src/validation/lle-tcp.md` has the conclusions.

pub mod c3tcp;
pub mod errors;
mod experiment;
pub mod infrastructure;
pub mod multi_hop;
mod row;
pub mod single_hop;

use rayon::prelude::*;

use crate::claim::Effort;
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

/// Runs everything, with `seeds` runs for each number; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let effort = Effort { seeds: seeds.max(2), duration: None };
    let parts = [single_hop::rows, errors::rows, multi_hop::rows, multi_hop::mobile, infrastructure::rows];
    let rows: Vec<Vec<Row>> =
        parts.par_iter().map(|rows| rows(effort, progress)).collect::<Result<_, _>>()?;
    let mut rows: Vec<Row> = rows.into_iter().flatten().collect();
    let improvements = rows.iter().filter(|row| row.metric.ends_with("improvement over TCP"));
    let signs = improvements.filter_map(Row::sign).collect::<Vec<_>>();
    rows.extend(signs);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn disagreeing(rows: &[Row]) -> Vec<(&str, &str)> {
        let disagreeing = rows.iter().filter(|row| !row.agrees);
        disagreeing.map(|row| (row.item.as_str(), row.metric.as_str())).collect()
    }

    const QUICK: Effort = Effort { seeds: 2, duration: Some(5) };

    #[test]
    fn throughputs_of_a_single_hop_agree_and_no_ack_policy_has_both_improvements() {
        let rows = single_hop::rows(QUICK, &Silent).expect("it runs");
        let throughputs = rows.iter().filter(|row| row.metric == "throughput");
        assert_eq!(throughputs.filter(|row| row.agrees).count(), 4);
        assert_eq!(
            disagreeing(&rows),
            [
                ("figure 3.7b, an ACK for every segment", "improvement over TCP"),
                ("figure 3.7b, an ACK for every second segment", "improvement over TCP")
            ]
        );
    }

    #[test]
    fn the_improvement_is_small_over_more_than_seven_hops() {
        let rows = multi_hop::hops(&[2, 8], QUICK, &Silent).expect("it runs");
        assert!(rows[1].agrees && rows[1].measured < rows[0].measured, "{rows:?}");
    }

    #[test]
    fn the_improvement_over_one_hop_does_not_depend_on_the_error_rate() {
        let rows = errors::single_hop(&[0, 10], QUICK, &Silent).expect("it runs");
        let claims = rows.iter().filter(|row| row.metric.starts_with("changes"));
        let verdicts: Vec<_> = claims.map(|row| (row.item.as_str(), row.agrees)).collect();
        let figure = "figure 3.9";
        let lost = "figure 3.9, lost frames are not repeated";
        assert_eq!(verdicts, [(figure, true), (figure, true), (lost, false), (lost, false)]);
    }

    #[test]
    fn an_access_point_changes_little() {
        let rows = infrastructure::beside_single_hop(&[500, 1500], &[0, 6], QUICK, &Silent);
        assert_eq!(disagreeing(&rows.expect("it runs")), []);
    }
}
