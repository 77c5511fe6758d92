//! CICADA (Ghaboosi and Khalaj, PIMRC 2005), tables 1 to 3: throughput, and delay and variance of
//! voice, of CICADA and I-TCP with 10, 20 and 30 calls and four loads.
//!
//! | module | what is in it |
//! |---|---|
//! | [`published`] | the three tables |
//! | [`network`] | the network, and the assumptions about it |
//! | [`claims`] | the numbers and claims of a row, with verdicts |
//!
//! Not here: hand-off times, the tables' last column. Of table 4 only the caption is known:
//! `benches/edge-costs.sh` measures the costs that it names.

pub mod claims;
pub mod network;
pub mod published;

use rayon::prelude::*;

use crate::claim::Effort;
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;

/// Runs everything, with `seeds` runs for each number; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    rows(&published::settings(), Effort { seeds: seeds.max(2), duration: None }, progress)
}

fn rows(
    settings: &[published::Setting],
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Vec<Row>, RunError> {
    let rows = settings.par_iter().map(|setting| {
        let runs = network::run(setting.calls, setting.load_kbps, effort, progress)?;
        Ok(claims::rows(setting, &runs))
    });
    let rows: Vec<Vec<Row>> = rows.collect::<Result<_, RunError>>()?;
    // The numbers first, in the order of the tables; then the claims.
    let (numbers, claims): (Vec<Row>, Vec<Row>) = rows.into_iter().flatten().partition(claims::is_number);
    Ok(numbers.into_iter().chain(claims).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn a_repeated_run_has_equal_rows() {
        let settings = published::settings();
        let effort = Effort { seeds: 2, duration: Some(5) };
        let once = || rows(&settings[..1], effort, &Silent).expect("it runs");
        assert_eq!(once(), once());
        assert_eq!(once().len(), 2 * 10, "six numbers and four claims, of two forms");
    }
}
