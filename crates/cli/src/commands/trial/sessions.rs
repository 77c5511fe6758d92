//! Sessions: what they came to over the runs, between real hosts and as predicted.

mod tables;

use lasthop_lab::stats::median;
use lasthop_live::trial::session::{SessionFigures, SessionRun};
use lasthop_scenario::session_figures::{StreamFigures, Transactions};
use serde::Serialize;

use super::doubts::{Doubt, Notes, doubts};
use super::rows::grouped;

pub(super) use tables::tables;

/// A session in one run.
pub(super) struct Entry<'a> {
    pub(super) session: &'a str,
    pub(super) kind: &'static str,
    pub(super) congestion: Option<&'a str>,
    pub(super) scheme: &'a str,
    pub(super) beside: &'a [String],
    /// The congestion controls of the run.
    pub(super) controls: &'a [String],
    /// Between real hosts, if it ran there.
    pub(super) real: Option<&'a SessionFigures>,
    pub(super) predicted: Option<&'a SessionFigures>,
    pub(super) seed: u64,
    /// Why the run is not trusted, each a sentence; none if it is.
    pub(super) because: &'a [String],
}

/// A session over the seeds.
#[derive(Serialize)]
pub(super) struct SessionRow {
    session: String,
    kind: &'static str,
    /// Both hosts' congestion control; `None` of a call or a video.
    congestion: Option<String>,
    scheme: String,
    /// The flows of the same runs.
    beside: Vec<String>,
    /// The congestion control of each flow and session of the run that goes over TCP.
    controls: Vec<String>,
    runs: usize,
    /// Of these runs, how many are not trusted.
    doubtful: usize,
    /// Why each of these is not.
    pub(super) doubts: Vec<Doubt>,
    /// Between real hosts; `None` where none ran.
    real: Option<Medians>,
    /// The simulator's, with its own TCP, over the same seeds; `None` for congestion controls that
    /// it does not have.
    predicted: Option<Medians>,
}

/// Medians over the seeds; `None` unless every run has a value.
#[derive(Serialize)]
struct Medians {
    goodput_bps: Option<f64>,
    /// Of pages, messages or files; `None` of a call or a video, as all below.
    completed: Option<f64>,
    failed: Option<f64>,
    time_mean_s: Option<f64>,
    time_median_s: Option<f64>,
    time_p95_s: Option<f64>,
    retransmits: Option<f64>,
    /// The directions of a call or a video.
    streams: Vec<StreamMedians>,
}

/// The same of one direction of a call or a video.
#[derive(Serialize)]
struct StreamMedians {
    from: String,
    to: String,
    sent: Option<f64>,
    lost_percent: Option<f64>,
    late_percent: Option<f64>,
    delay_mean_s: Option<f64>,
    delay_variance_s2: Option<f64>,
    delay_p95_s: Option<f64>,
    jitter_s: Option<f64>,
    mos: Option<f64>,
}

impl<'a> Entry<'a> {
    /// What a run between real hosts brought.
    pub(super) fn of(run: &'a SessionRun) -> Self {
        Self {
            session: &run.session,
            kind: run.kind,
            congestion: run.congestion.as_deref(),
            scheme: &run.scheme,
            beside: &run.beside,
            controls: &run.controls,
            real: Some(&run.real),
            predicted: run.predicted.as_ref(),
            seed: run.seed,
            because: &run.because,
        }
    }
}

/// A row for each session, under each scheme, beside each flow with each congestion control.
pub(super) fn rows(entries: &[Entry<'_>]) -> Vec<SessionRow> {
    let rows = grouped(entries, |run| (run.session, run.congestion, run.scheme, run.beside, run.controls));
    rows.iter().filter_map(|runs| SessionRow::new(runs)).collect()
}

impl SessionRow {
    fn new(runs: &[&Entry<'_>]) -> Option<Self> {
        let first = runs.first()?;
        let doubts = doubts(runs.iter().map(|run| (run.seed, run.because)));
        Some(Self {
            session: first.session.to_owned(),
            kind: first.kind,
            congestion: first.congestion.map(str::to_owned),
            scheme: first.scheme.to_owned(),
            beside: first.beside.to_vec(),
            controls: first.controls.to_vec(),
            runs: runs.len(),
            doubtful: doubts.len(),
            doubts,
            real: Medians::of(runs.iter().map(|run| run.real)),
            predicted: Medians::of(runs.iter().map(|run| run.predicted)),
        })
    }

    /// The runs behind it.
    pub(super) const fn runs(&self) -> usize {
        self.runs
    }

    /// What ran it, with its figures; the real one has the mark of its doubts.
    fn sources(&self, notes: &Notes) -> impl Iterator<Item = (String, &Medians)> {
        let real = format!("real{}", notes.mark(&self.doubts));
        let sources = [(real, &self.real), ("predicted".to_owned(), &self.predicted)];
        sources.into_iter().filter_map(|(name, medians)| Some((name, medians.as_ref()?)))
    }
}

impl Medians {
    /// Those of all runs; `None` if one has no figures.
    fn of<'a>(runs: impl Iterator<Item = Option<&'a SessionFigures>>) -> Option<Self> {
        let runs: Vec<&SessionFigures> = runs.collect::<Option<_>>()?;
        let first = runs.first()?;
        let transactions: Option<Vec<Transactions>> = runs.iter().map(|run| run.transactions).collect();
        let transactions = transactions.unwrap_or_default();
        let all = |value: fn(&Transactions) -> Option<f64>| median_of(transactions.iter().map(value));
        let streams = (0..first.streams.len()).filter_map(|place| {
            let streams: Option<Vec<&StreamFigures>> =
                runs.iter().map(|run| run.streams.get(place)).collect();
            StreamMedians::of(&streams?)
        });
        Some(Self {
            goodput_bps: median_of(runs.iter().map(|run| Some(run.goodput_bps))),
            completed: all(|run| Some(run.completed as f64)),
            failed: all(|run| Some(run.failed as f64)),
            time_mean_s: all(|run| run.time_mean_s),
            time_median_s: all(|run| run.time_median_s),
            time_p95_s: all(|run| run.time_p95_s),
            retransmits: all(|run| Some(run.retransmits as f64)),
            streams: streams.collect(),
        })
    }
}

impl StreamMedians {
    fn of(runs: &[&StreamFigures]) -> Option<Self> {
        let first = runs.first()?;
        let all = |value: fn(&StreamFigures) -> Option<f64>| median_of(runs.iter().map(|run| value(run)));
        Some(Self {
            from: first.from.clone(),
            to: first.to.clone(),
            sent: all(|run| Some(run.packets.sent as f64)),
            lost_percent: all(|run| run.packets.lost_percent),
            late_percent: all(|run| run.packets.late_percent),
            delay_mean_s: all(|run| run.packets.delay_mean_s),
            delay_variance_s2: all(|run| run.packets.delay_variance_s2),
            delay_p95_s: all(|run| run.packets.delay_p95_s),
            jitter_s: all(|run| run.packets.jitter_s),
            mos: all(|run| run.mos),
        })
    }
}

/// A median of the runs that have a value would flatter those that do not.
fn median_of(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    median(&values.collect::<Option<Vec<f64>>>()?)
}
