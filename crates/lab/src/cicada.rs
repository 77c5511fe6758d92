//! CICADA (Ghaboosi and Khalaj, PIMRC 2005), tables 1 to 3: throughput, and delay and variance of
//! voice, of CICADA and I-TCP with 10, 20 and 30 calls and four loads.
//!
//! | module | what is in it |
//! |---|---|
//! | [`published`] | the three tables |
//! | [`network`] | the network, and the assumptions about it |
//! | [`claims`] | the numbers and claims of a row, with verdicts |
//! | [`hand_off`] | the tables' last column, and the claims about it |
//!
//! Of table 4 only the caption is known: `benches/edge-costs.sh` measures the costs that it names.

pub mod claims;
pub mod hand_off;
pub mod network;
pub mod published;

use rayon::prelude::*;

use crate::claim::{Effort, Runs};
use crate::progress::Progress;
use crate::reproduce::Row;
use crate::run::RunError;
use network::Stations;
use published::Setting;

/// Runs everything, with `seeds` runs for each number; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    rows(&published::settings(), Effort { seeds: seeds.max(2), duration: None }, progress)
}

fn rows(settings: &[Setting], effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let run = |stations: Stations| {
        let runs = settings.par_iter().map(|setting| {
            let runs = network::run(stations, (setting.calls, setting.load_kbps), effort, progress)?;
            Ok((setting.clone(), runs))
        });
        runs.collect::<Result<Vec<(Setting, Runs)>, RunError>>()
    };
    let staying = run(Stations::Stay)?;
    let rows = staying.iter().flat_map(|(setting, runs)| claims::rows(setting, runs));
    let rows: Vec<Row> = rows.chain(hand_off::rows(&run(Stations::Roam)?)).collect();
    // The numbers first, in the order of the tables; then the claims.
    let (numbers, claims): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(claims::is_number);
    Ok(numbers.into_iter().chain(claims).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn a_repeated_run_has_equal_rows() {
        let settings = published::settings();
        // Long enough for a hand-off.
        let effort = Effort { seeds: 2, duration: Some(45) };
        let once = || rows(&settings[..1], effort, &Silent).expect("it runs");
        assert_eq!(once(), once());
        assert_eq!(once().len(), 2 * (10 + 3), "eight numbers and five claims, of two forms");
    }
}
