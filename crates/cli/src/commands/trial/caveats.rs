//! The rows of a trial that are not trusted, and the reasons.

use lasthop_config::words::counted;
use serde::Serialize;

/// Why a run is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Caveat {
    /// The seed of the run.
    seed: u64,
    /// The reasons, each a sentence.
    because: Vec<String>,
}

/// The caveats of a row's runs, each with its seed and reasons. Runs without reasons have no
/// caveat.
pub(super) fn caveats<'a>(runs: impl Iterator<Item = (u64, &'a [String])>) -> Vec<Caveat> {
    let untrusted = runs.filter(|(_, because)| !because.is_empty());
    untrusted.map(|(seed, because)| Caveat { seed, because: because.to_vec() }).collect()
}

/// The numbered caveats of all rows. Rows of the same runs have the same caveats, and the same
/// number.
#[derive(Default)]
pub(super) struct Notes {
    /// The caveats of a row, and the number of its runs.
    notes: Vec<(Vec<Caveat>, usize)>,
}

impl Notes {
    /// Numbers the caveats of rows, each with the number of its runs.
    pub(super) fn of<'a>(rows: impl Iterator<Item = (&'a [Caveat], usize)>) -> Self {
        let mut notes: Vec<(Vec<Caveat>, usize)> = Vec::new();
        for (caveats, runs) in rows.filter(|(caveats, _)| !caveats.is_empty()) {
            if !notes.iter().any(|(known, _)| known == caveats) {
                notes.push((caveats.to_vec(), runs));
            }
        }
        Self { notes }
    }

    /// The mark after the label of a row with these caveats, such as ` !1`; empty without caveats.
    pub(super) fn mark(&self, caveats: &[Caveat]) -> String {
        let place = self.notes.iter().position(|(known, _)| known == caveats);
        place.map(|place| format!(" !{}", place + 1)).unwrap_or_default()
    }

    /// The lines below the tables, one for each mark.
    pub(super) fn lines(&self) -> Vec<String> {
        if self.notes.is_empty() {
            return vec!["emulator, gateway and hosts were on time in every run".to_owned()];
        }
        let lines = self.notes.iter().enumerate().map(|(place, (caveats, runs))| {
            let reasons =
                caveats.iter().map(|caveat| format!("seed {}: {}", caveat.seed, caveat.because.join("; ")));
            format!(
                "!{} {} of {}: {}",
                place + 1,
                caveats.len(),
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

    fn late(seed: u64, why: &str) -> Vec<Caveat> {
        caveats([(seed, &[why.to_owned()][..]), (9, &[][..])].into_iter())
    }

    #[test]
    fn each_row_has_the_mark_of_its_own_reasons() {
        let (first, second) = (late(1, "the emulator was late"), late(2, "the gateway stalled 3 times"));
        let rows = [&first[..], &[][..], &second[..], &first[..]];
        let notes = Notes::of(rows.iter().map(|caveats| (*caveats, 2)));
        assert_eq!(rows.map(|caveats| notes.mark(caveats)), [" !1", "", " !2", " !1"]);
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
            Notes::of([(&[][..], 3)].into_iter()).lines(),
            ["emulator, gateway and hosts were on time in every run"]
        );
    }
}
