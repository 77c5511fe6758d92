//! The fairness between flows that ran together.

use lasthop_lab::stats::{jain_fairness, median};
use serde::Serialize;

use super::rows::grouped;

/// Jain's index of the goodputs of a scheme's runs: 1 if all flows had the same, 1/n if one of n
/// had everything. Medians over the seeds.
#[derive(Serialize)]
pub(super) struct Fairness {
    pub(super) scheme: String,
    /// The hosts' kernel in simulated time.
    pub(super) kernel: Option<String>,
    /// Jain's fairness index of the flows between real hosts; `None` with `--predict`.
    #[serde(rename = "jain_fairness")]
    pub(super) jain: Option<f64>,
    /// The same index in the simulator; `None` if the simulator does not have a congestion control
    /// of the run.
    #[serde(rename = "predicted_jain_fairness")]
    pub(super) predicted_jain: Option<f64>,
}

/// The goodputs of one run's flows.
pub(super) struct Shared {
    pub(super) scheme: String,
    pub(super) kernel: Option<String>,
    pub(super) goodputs: Option<Vec<f64>>,
    pub(super) predicted: Option<Vec<f64>>,
}

/// The fairness of each scheme, in order.
pub(super) fn of_runs(runs: &[Shared]) -> Vec<Fairness> {
    let of_schemes = grouped(runs, |run| (run.scheme.clone(), run.kernel.clone())).into_iter();
    let fairness = of_schemes.map(|runs| Fairness {
        scheme: runs[0].scheme.clone(),
        kernel: runs[0].kernel.clone(),
        jain: jain(runs.iter().map(|run| run.goodputs.as_deref())),
        predicted_jain: jain(runs.iter().map(|run| run.predicted.as_deref())),
    });
    fairness.collect()
}

/// The median index; `None` unless data arrived in all runs.
fn jain<'a>(runs: impl Iterator<Item = Option<&'a [f64]>>) -> Option<f64> {
    let indices: Option<Vec<f64>> = runs.map(|goodputs| goodputs.and_then(jain_fairness)).collect();
    median(&indices?)
}

impl Fairness {
    /// The text of a line, such as `Jain's index under "none": 0.98, predicted 0.96`.
    pub(super) fn line(&self) -> String {
        let kernel = self.kernel.as_ref().map(|kernel| format!(" with Linux {kernel}")).unwrap_or_default();
        let parts = [(self.jain, ""), (self.predicted_jain, "predicted ")];
        let known = parts.iter().filter_map(|(index, word)| index.map(|index| format!("{word}{index:.3}")));
        format!("Jain's index under {:?}{kernel}: {}", self.scheme, known.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(scheme: &str, goodputs: &[f64], predicted: Option<&[f64]>) -> Shared {
        Shared {
            scheme: scheme.to_owned(),
            kernel: None,
            goodputs: Some(goodputs.to_vec()),
            predicted: predicted.map(<[f64]>::to_vec),
        }
    }

    #[test]
    fn a_scheme_has_the_median_of_its_runs_and_no_prediction_if_one_run_has_none() {
        let runs = [
            run("none", &[1.0, 1.0], Some(&[1.0, 0.0])),
            run("none", &[1.0, 1.0], Some(&[1.0, 0.0])),
            run("none", &[1.0, 0.0], Some(&[1.0, 1.0])),
            run("snoop", &[2.0, 0.0], None),
        ];
        let [none, snoop] = &of_runs(&runs)[..] else { panic!("two schemes") };
        assert_eq!((none.jain, none.predicted_jain), (Some(1.0), Some(0.5)));
        assert_eq!((snoop.jain, snoop.predicted_jain), (Some(0.5), None));
        assert_eq!(none.line(), "Jain's index under \"none\": 1.000, predicted 0.500");
        assert_eq!(snoop.line(), "Jain's index under \"snoop\": 0.500");
    }
}
