//! Snoop's relatives: the claims of their sources, each scheme in a scenario of its own, with
//! verdicts.
//!
//! The papers' texts were not available. The claims are those that Kliazovich's dissertation
//! reports (section 2.4, tables 2.2 and 2.3), which are qualitative. A row has the measured effect,
//! and agrees if the complete confidence interval is on the claimed side.
//!
//! | module | what is in it |
//! |---|---|
//! | [`ebsn`] | EBSN: bad states of seconds below a link layer that keeps retransmitting |
//! | [`wtcp`] | WTCP: outages of seconds, without such a link layer |
//! | [`dda`] | DDA: a link layer that retransmits out of order |
//! | [`eln`] | ELN: uploads over a hop that loses single segments |
//! | [`uplink`] | Snoop's uplink half: likewise |
//!
//! Where a claim is checked with senders of the paper's time and with Linux, the latter is the
//! alternative.
//!
//! To add a scheme, add a module with a function `rows` to the list below.

pub mod dda;
pub mod ebsn;
pub mod eln;
pub mod uplink;
pub mod wtcp;

use rayon::prelude::*;

use crate::claim::Effort;
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

/// Runs the experiments of a scheme.
type Relative = fn(Effort, &dyn Progress) -> Result<Vec<Row>, RunError>;

const RELATIVES: [Relative; 5] = [ebsn::rows, wtcp::rows, dda::rows, eln::rows, uplink::rows];

/// Runs everything, with `seeds` runs for each number; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let effort = Effort { seeds: seeds.max(2), duration: None };
    let rows: Vec<Vec<Row>> =
        RELATIVES.par_iter().map(|rows| rows(effort, progress)).collect::<Result<_, _>>()?;
    Ok(rows.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use crate::reproduce::Reference;

    /// Whether docs/src/validation/others.md explains the row's disagreement.
    fn is_known_not_to_hold(row: &Row) -> bool {
        let than = |scheme: &str| row.parameters.get("than").is_some_and(|than| than == scheme);
        let is_linux = row.parameters.get("set").is_some_and(|set| set.to_string().contains("linux"));
        row.scheme == "dda" && than("none") && is_linux
    }

    #[test]
    fn the_claims_of_each_relative_hold() {
        let seconds = [300, 100, 60, 20, 20];
        for (rows, seconds) in RELATIVES.into_iter().zip(seconds) {
            let effort = Effort { seeds: 4, duration: Some(seconds) };
            for row in rows(effort, &Silent).expect("it runs") {
                // Few and short runs have wide intervals: the mean is enough.
                let holds = match row.tolerance {
                    Reference::Number(_) | Reference::Range(..) => row.agrees,
                    Reference::None => row.measured.is_some_and(|measured| measured > row.at_least_percent()),
                };
                assert_eq!(holds, !is_known_not_to_hold(&row), "{row:?}");
            }
        }
    }
}
