//! The results of sessions over the runs, between real hosts and as predicted.

mod tables;

use lasthop_lab::stats::median;
use lasthop_scenario::session_figures::{StreamFigures, Transactions};
use lasthop_trial::session::{SessionFigures, SessionRun};
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
    /// The figures between real hosts, if it ran there.
    pub(super) real: Option<&'a SessionFigures>,
    pub(super) predicted: Option<&'a SessionFigures>,
    pub(super) seed: u64,
    /// The hosts' kernel in simulated time.
    pub(super) kernel: Option<&'a str>,
    /// The reasons why the run is not trusted, each a sentence; empty if it is trusted.
    pub(super) because: &'a [String],
}

/// A session over the seeds.
#[derive(Serialize)]
pub(super) struct SessionRow {
    session: String,
    kind: &'static str,
    /// The congestion control of both hosts; `None` for a call or a video.
    congestion: Option<String>,
    scheme: String,
    /// The hosts' kernel, in simulated time: its version; if the user has given its path, the name of its folder in a cache, or the path.
    kernel: Option<String>,
    /// The flows of the same runs.
    beside: Vec<String>,
    /// The congestion control of each flow and session of these runs that goes over TCP.
    controls: Vec<String>,
    /// Number of runs.
    runs: usize,
    /// Number of runs that are not trusted.
    doubtful: usize,
    /// The runs that are not trusted, with the reasons.
    pub(super) doubts: Vec<Doubt>,
    /// Medians over the runs between real hosts; `None` with `--predict`.
    real: Option<Medians>,
    /// Medians in the simulator, with the same seeds; `None` for a congestion control that the
    /// simulator does not have.
    predicted: Option<Medians>,
}

/// Medians over the seeds; `None` unless every run has a value.
#[derive(Serialize)]
struct Medians {
    /// Goodput of both directions together, in bits per second.
    goodput_bps: Option<f64>,
    /// Pages, messages or files that are complete; `None` for a call or a video, like the next
    /// five.
    completed: Option<f64>,
    /// Pages, messages or files whose connections failed.
    failed: Option<f64>,
    /// Mean time from the first SYN or request to the last octet, in seconds; `None` also if a run
    /// completed none, like the next two.
    time_mean_s: Option<f64>,
    /// Median of these times, in seconds.
    time_median_s: Option<f64>,
    /// 95th percentile of these times, in seconds.
    time_p95_s: Option<f64>,
    /// Segments that the two hosts retransmitted.
    retransmits: Option<f64>,
    /// The directions of a call or a video.
    streams: Vec<StreamMedians>,
}

/// The same of one direction of a call or a video.
#[derive(Serialize)]
struct StreamMedians {
    from: String,
    to: String,
    /// Packets sent. This and the following keys are medians over the runs, and null if a run has
    /// no value.
    sent: Option<f64>,
    lost_percent: Option<f64>,
    /// Packets that arrived too late for playout, in percent of the same packets.
    late_percent: Option<f64>,
    /// Mean one-way delay in the network, in seconds.
    delay_mean_s: Option<f64>,
    delay_variance_s2: Option<f64>,
    /// 95th percentile of the one-way delay, in seconds.
    delay_p95_s: Option<f64>,
    /// Interarrival jitter at the end of the run, in seconds (RFC 3550, section 6.4.1).
    jitter_s: Option<f64>,
    /// Mean opinion score, 1 to 4.5; `None` for a video.
    mos: Option<f64>,
}

impl<'a> Entry<'a> {
    /// The entry of a run between real hosts.
    pub(super) fn new(run: &'a SessionRun) -> Self {
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
            kernel: run.kernel.as_deref(),
            because: &run.because,
        }
    }
}

/// A row for each session, congestion control, scheme, and combination of flows.
pub(super) fn rows(entries: &[Entry<'_>]) -> Vec<SessionRow> {
    let rows = grouped(entries, |run| {
        (run.session, run.congestion, run.scheme, run.beside, run.controls, run.kernel)
    });
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
            kernel: first.kernel.map(str::to_owned),
            beside: first.beside.to_vec(),
            controls: first.controls.to_vec(),
            runs: runs.len(),
            doubtful: doubts.len(),
            doubts,
            real: Medians::from_runs(runs.iter().map(|run| run.real)),
            predicted: Medians::from_runs(runs.iter().map(|run| run.predicted)),
        })
    }

    /// The number of its runs.
    pub(super) const fn runs(&self) -> usize {
        self.runs
    }

    /// The sources, real or predicted, with their figures. The real one has the mark of its
    /// doubts.
    fn sources(&self, notes: &Notes) -> impl Iterator<Item = (String, &Medians)> {
        let kernel = self.kernel.as_ref().map(|kernel| format!(" ({kernel})")).unwrap_or_default();
        let real = format!("real{kernel}{}", notes.mark(&self.doubts));
        let sources = [(real, &self.real), ("predicted".to_owned(), &self.predicted)];
        sources.into_iter().filter_map(|(name, medians)| Some((name, medians.as_ref()?)))
    }
}

impl Medians {
    /// The medians over all runs; `None` if a run has no figures.
    fn from_runs<'a>(runs: impl Iterator<Item = Option<&'a SessionFigures>>) -> Option<Self> {
        let runs: Vec<&SessionFigures> = runs.collect::<Option<_>>()?;
        let first = runs.first()?;
        let transactions: Option<Vec<Transactions>> = runs.iter().map(|run| run.transactions).collect();
        let transactions = transactions.unwrap_or_default();
        let all = |value: fn(&Transactions) -> Option<f64>| median_of(transactions.iter().map(value));
        let streams = (0..first.streams.len()).filter_map(|place| {
            let streams: Option<Vec<&StreamFigures>> =
                runs.iter().map(|run| run.streams.get(place)).collect();
            StreamMedians::from_runs(&streams?)
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
    fn from_runs(runs: &[&StreamFigures]) -> Option<Self> {
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

/// The median of all values; `None` if one is missing, since a median over the others would be
/// biased.
fn median_of(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    median(&values.collect::<Option<Vec<f64>>>()?)
}
