//! The rows of a trial that are not trusted, and the reasons.

use lasthop_config::words::counted;
use serde::Serialize;

/// Why a run is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Doubt {
    /// The seed of the run.
    seed: u64,
    /// The reasons, each a sentence.
    because: Vec<String>,
}

/// The doubts of a row's runs, each with its seed and reasons. Runs without reasons have no
/// doubt.
pub(super) fn doubts<'a>(runs: impl Iterator<Item = (u64, &'a [String])>) -> Vec<Doubt> {
    let untrusted = runs.filter(|(_, because)| !because.is_empty());
    untrusted.map(|(seed, because)| Doubt { seed, because: because.to_vec() }).collect()
}

/// The numbered doubts of all rows. Rows of the same runs have the same doubts, and the same
/// number.
#[derive(Default)]
pub(super) struct Notes {
    /// The doubts of a row, and the number of its runs.
    notes: Vec<(Vec<Doubt>, usize)>,
}

impl Notes {
    /// Numbers the doubts of rows, each with the number of its runs.
    pub(super) fn from_rows<'a>(rows: impl Iterator<Item = (&'a [Doubt], usize)>) -> Self {
        let mut notes: Vec<(Vec<Doubt>, usize)> = Vec::new();
        for (doubts, runs) in rows.filter(|(doubts, _)| !doubts.is_empty()) {
            if !notes.iter().any(|(known, _)| known == doubts) {
                notes.push((doubts.to_vec(), runs));
            }
        }
        Self { notes }
    }

    /// The mark after the label of a row with these doubts, such as ` !1`; empty without doubts.
    pub(super) fn mark(&self, doubts: &[Doubt]) -> String {
        let place = self.notes.iter().position(|(known, _)| known == doubts);
        place.map(|place| format!(" !{}", place + 1)).unwrap_or_default()
    }

    /// The lines below the tables, one for each mark.
    pub(super) fn lines(&self) -> Vec<String> {
        if self.notes.is_empty() {
            return vec!["emulator, gateway and hosts were on time in every run".to_owned()];
        }
        let lines = self.notes.iter().enumerate().map(|(place, (doubts, runs))| {
            let reasons =
                doubts.iter().map(|doubt| format!("seed {}: {}", doubt.seed, doubt.because.join("; ")));
            format!(
                "!{} {} of {}: {}",
                place + 1,
                doubts.len(),
                counted(*runs as u64, "run"),
                reasons.collect::<Vec<_>>().join(". ")
            )
        });
        let heading = "rows marked ! are not trusted, because the machine was too busy:".to_owned();
        [heading].into_iter().chain(lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(seed: u64, why: &str) -> Vec<Doubt> {
        doubts([(seed, &[why.to_owned()][..]), (9, &[][..])].into_iter())
    }

    #[test]
    fn each_row_has_the_mark_of_its_own_reasons() {
        let (first, second) = (late(1, "the emulator was late"), late(2, "the gateway stalled 3 times"));
        let rows = [&first[..], &[][..], &second[..], &first[..]];
        let notes = Notes::from_rows(rows.iter().map(|doubts| (*doubts, 2)));
        assert_eq!(rows.map(|doubts| notes.mark(doubts)), [" !1", "", " !2", " !1"]);
        assert_eq!(
            notes.lines()[1..],
            [
                "!1 1 of 2 runs: seed 1: the emulator was late",
                "!2 1 of 2 runs: seed 2: the gateway stalled 3 times",
            ]
        );
    }

    #[test]
    fn without_doubts_all_runs_were_on_time() {
        assert_eq!(
            Notes::from_rows([(&[][..], 3)].into_iter()).lines(),
            ["emulator, gateway and hosts were on time in every run"]
        );
    }
}
