//! `--series`: the state of senders over time, as a CSV file.

use std::time::Duration;

use lasthop_linux::results::ResultFile;
use lasthop_trial::Outcome;
use lasthop_trial::sample::Sample;

use crate::failure::Failure;

/// The interval between samples of a sender.
pub(super) const EVERY: Duration = Duration::from_millis(10);

const HEADER: [&str; 11] = [
    "flow",
    "congestion",
    "scheme",
    "seed",
    "source",
    "time_s",
    "cwnd_octets",
    "ssthresh_octets",
    "srtt_s",
    "rto_s",
    "retransmits",
];

/// One sender in one run.
pub(super) struct Series<'a> {
    pub(super) flow: &'a str,
    pub(super) congestion: &'a str,
    pub(super) scheme: &'a str,
    pub(super) seed: u64,
    /// "real" or "predicted".
    pub(super) source: &'static str,
    pub(super) samples: &'a [Sample],
}

/// The series of a flow in a run: that of the real host, and that of the simulator.
pub(super) fn of_outcome(outcome: &Outcome) -> [Series<'_>; 2] {
    let of = |source, samples| Series {
        flow: &outcome.flow,
        congestion: &outcome.congestion,
        scheme: &outcome.scheme,
        seed: outcome.seed,
        source,
        samples,
    };
    [of("real", &outcome.series), of("predicted", &outcome.predicted_series)]
}

/// Writes all series, a row for each sample. A value that a sender does not know yet is empty.
pub(super) fn write<'a>(file: ResultFile, all: impl IntoIterator<Item = Series<'a>>) -> Result<(), Failure> {
    let mut out = csv::Writer::from_writer(file);
    let failed = |error: csv::Error| Failure::Run(error.into());
    out.write_record(HEADER).map_err(failed)?;
    for series in all {
        let seed = series.seed.to_string();
        for sample in series.samples {
            let seconds = |time: Duration| format!("{:.6}", time.as_secs_f64());
            let values = [
                seconds(sample.at),
                sample.cwnd.to_string(),
                sample.ssthresh.map(|octets| octets.to_string()).unwrap_or_default(),
                sample.srtt.map(seconds).unwrap_or_default(),
                seconds(sample.rto),
                sample.retransmits.to_string(),
            ];
            let names = [series.flow, series.congestion, series.scheme, &seed, series.source];
            let row = names.into_iter().chain(values.iter().map(String::as_str));
            out.write_record(row).map_err(failed)?;
        }
    }
    let file = out.into_inner().map_err(|error| Failure::Run(error.into_error().into()))?;
    Ok(file.finish()?)
}
