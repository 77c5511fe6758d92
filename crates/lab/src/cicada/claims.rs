//! The rows of one setting: each number of the tables beside ours, and the paper's claims about the
//! two schemes.

use crate::claim::{Claim, Runs};
use crate::reproduce::{Reference, Row};
use crate::run::RunSummary;
use crate::sessions::Packets;
use crate::stats::Estimate;

use super::published::{Figures, Setting};

/// CICADA over I-TCP: as published, and in today's form.
pub(super) const PAIRS: [Pair; 2] = [
    Pair { schemes: ("cicada as published", "i-tcp as published"), is_alternative: false },
    Pair { schemes: ("cicada", "i-tcp"), is_alternative: true },
];
/// The scheme without an agent, for the values without effect.
const NO_AGENT: &str = "none";
pub(super) const ITEMS: [&str; 3] = ["table 1", "table 2", "table 3"];

/// The tolerances around the numbers of the tables, as factors. The tables' network is only partly
/// known: a delay within a half, and a variance between a third and three times the published one,
/// agree.
const THROUGHPUT: (f64, f64) = (0.95, 1.05);
const DELAY: (f64, f64) = (0.5, 1.5);
const VARIANCE: (f64, f64) = (1.0 / 3.0, 3.0);

/// The range of CICADA's gain in throughput over I-TCP in the tables, in percent.
const GAIN: (f64, f64) = (3.5, 14.1);
/// The minimum reduction of the delay, in percent: at most 65% of I-TCP's is left.
const SHORTER: f64 = 35.0;
/// The minimum reduction of the variance, in percent: at most a fifth is left.
const STEADIER: f64 = 80.0;

/// One form of both schemes, as published or today's.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) schemes: (&'static str, &'static str),
    pub(super) is_alternative: bool,
}

/// A column of the tables.
pub(super) struct Column {
    pub(super) metric: &'static str,
    pub(super) unit: &'static str,
    pub(super) of: fn(&RunSummary) -> f64,
    pub(super) published: fn(&Figures) -> Option<f64>,
    /// The tolerance around the published value.
    pub(super) factors: (f64, f64),
}

const COLUMNS: [Column; 3] = [
    Column {
        metric: "throughput",
        unit: "Mbit/s",
        of: throughput_mbps,
        published: |figures| Some(figures.throughput_mbps),
        factors: THROUGHPUT,
    },
    Column {
        metric: "voice delay",
        unit: "ms",
        of: delay_ms,
        published: |figures| Some(figures.delay_ms),
        factors: DELAY,
    },
    Column {
        metric: "voice delay variance",
        unit: "ms²",
        of: variance_ms2,
        published: |figures| figures.variance_ms2,
        factors: VARIANCE,
    },
];

/// The rows of a setting: numbers of the tables, then claims.
pub fn rows(setting: &Setting, runs: &Runs) -> Vec<Row> {
    PAIRS.iter().flat_map(|pair| of_pair(setting, runs, *pair)).collect()
}

fn of_pair(setting: &Setting, runs: &Runs, pair: Pair) -> Vec<Row> {
    let (cicada, itcp) = pair.schemes;
    let item = ITEMS[setting.table - 1];
    let numbers = [(itcp, &setting.itcp), (cicada, &setting.cicada)].map(|(scheme, figures)| {
        COLUMNS.iter().filter_map(|column| {
            let published = (column.published)(figures)?;
            Some(number(item, scheme, column, published, runs))
        })
    });
    let claims = claims(item, pair.schemes);
    // Two variances are lost: nothing is known about their claims.
    let known = if setting.cicada.variance_ms2.is_some() { &claims[..] } else { &claims[..3] };
    let rows = numbers.into_iter().flatten().chain(known.iter().map(|claim| runs.row(claim)));
    rows.map(|row| if pair.is_alternative { row.as_alternative() } else { row }).collect()
}

/// Whether a row is a number of the tables, not a claim.
pub fn is_number(row: &Row) -> bool {
    row.unit != "percent"
}

fn claims(item: &'static str, schemes: (&'static str, &'static str)) -> [Claim; 4] {
    [
        Claim::more(item, schemes, "more throughput", throughput_mbps),
        Claim::more(item, schemes, "as much more throughput as in the tables", throughput_mbps)
            .by_between(GAIN.0, GAIN.1),
        Claim::less(item, schemes, "shorter voice delay", delay_ms).by(SHORTER),
        Claim::less(item, schemes, "less voice delay variance", variance_ms2).by(STEADIER),
    ]
}

/// A number of a table beside the runs' value.
pub(super) fn number(item: &str, scheme: &str, column: &Column, published: f64, runs: &Runs) -> Row {
    let samples = runs.samples(scheme, column.of);
    let tolerance = Reference::Range(published * column.factors.0, published * column.factors.1);
    let row = Row {
        paper: "cicada".to_owned(),
        item: item.to_owned(),
        parameters: runs.parameters().clone(),
        scheme: scheme.to_owned(),
        metric: column.metric.to_owned(),
        unit: column.unit.to_owned(),
        published: Reference::Number(published),
        ..Row::within(tolerance, Estimate::from_samples(&samples), samples.len())
    };
    row.without_effect(
        Estimate::from_samples(&runs.samples(NO_AGENT, column.of)).map(|estimate| estimate.mean),
    )
}

/// The goodput of connections and calls together, in both directions.
fn throughput_mbps(run: &RunSummary) -> f64 {
    let of_calls = run.aggregate.sessions.and_then(|all| all.voice).map_or(0.0, |voice| voice.goodput_bps);
    (run.aggregate.goodput_bps + of_calls) / 1e6
}

/// The mean delay over the packets of all calls.
fn delay_ms(run: &RunSummary) -> f64 {
    voice(run).and_then(|packets| packets.delay_mean_s).map_or(f64::NAN, |delay| delay * 1e3)
}

/// The variance of the delay over the packets of all calls.
fn variance_ms2(run: &RunSummary) -> f64 {
    voice(run).and_then(|packets| packets.delay_variance_s2).map_or(f64::NAN, |variance| variance * 1e6)
}

fn voice(run: &RunSummary) -> Option<Packets> {
    run.aggregate.sessions.and_then(|all| all.voice).map(|voice| voice.packets)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::run::Aggregate;
    use crate::sessions::{SessionTotals, StreamTotals};

    /// Runs that differ by a thousandth: Mbit/s of connections, ms and ms² of calls. The calls have
    /// 1 Mbit/s together.
    fn runs(scheme: &str, throughput: f64, delay: f64, variance: f64) -> (String, Vec<RunSummary>) {
        let run = |factor: f64| {
            let voice = StreamTotals {
                sessions: 10,
                goodput_bps: 1e6,
                packets: Packets {
                    delay_mean_s: Some(delay * factor / 1e3),
                    delay_variance_s2: Some(variance * factor / 1e6),
                    ..Packets::default()
                },
                mos: None,
                mos_worst: None,
            };
            let aggregate = Aggregate {
                goodput_bps: throughput * 1e6 * factor,
                jain_fairness: Some(1.0),
                completion_s: None,
                retransmits: 0,
                timeouts: 0,
                fast_retransmits: 0,
                udp_goodput_bps: None,
                datagrams: None,
                sessions: Some(SessionTotals { voice: Some(voice), ..SessionTotals::default() }),
                air_time_share: None,
                air_time_fairness: None,
            };
            RunSummary {
                scenario: String::new(),
                scheme: scheme.to_owned(),
                seed: 1,
                duration_s: 1.0,
                warm_up_s: 0.0,
                flows: Vec::new(),
                sessions: Vec::new(),
                stations: Vec::new(),
                roaming: None,
                aggregate,
                agents: crate::agents::AgentLoad::default(),
                counters: BTreeMap::new(),
            }
        };
        (scheme.to_owned(), [0.999, 1.0, 1.001].map(run).to_vec())
    }

    fn setting() -> Setting {
        let figures = |throughput_mbps, delay_ms, variance_ms2| Figures {
            throughput_mbps,
            delay_ms,
            variance_ms2: Some(variance_ms2),
            hand_off_ms: 1.0,
        };
        Setting {
            table: 1,
            calls: 10,
            load_kbps: 50,
            itcp: figures(2.0, 2.0, 1.0),
            cicada: figures(2.1, 1.0, 0.1),
        }
    }

    /// The verdicts on CICADA's runs beside I-TCP's published figures.
    fn verdicts(throughput: f64, delay: f64, variance: f64) -> (Vec<bool>, Vec<bool>) {
        let schemes = vec![runs("i-tcp", 1.0, 2.0, 1.0), runs("cicada", throughput, delay, variance)];
        let rows = of_pair(&setting(), &Runs::made_up("cicada", schemes), PAIRS[1]);
        let (numbers, claims): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(is_number);
        let verdicts = |rows: Vec<Row>| rows.iter().map(|row| row.agrees).collect();
        (verdicts(numbers), verdicts(claims))
    }

    #[test]
    fn published_figures_agree() {
        assert_eq!(verdicts(1.1, 1.0, 0.1), (vec![true; 6], vec![true; 4]));
    }

    #[test]
    fn each_claim_is_checked_separately() {
        assert_eq!(verdicts(1.0, 1.0, 0.1).1, [false, false, true, true], "no more throughput");
        assert_eq!(verdicts(1.04, 1.0, 0.1).1, [true, false, true, true], "2% more");
        assert_eq!(verdicts(1.4, 1.0, 0.1).1, [true, false, true, true], "20% more");
        assert_eq!(verdicts(1.1, 1.31, 0.1).1, [true, true, false, true], "66% of the delay");
        assert_eq!(verdicts(1.1, 1.29, 0.1).1, [true; 4], "64% of it");
        assert_eq!(verdicts(1.1, 1.0, 0.21).1, [true, true, true, false], "21% of the variance");
        assert_eq!(verdicts(1.1, 1.0, 0.19).1, [true; 4], "19% of it");
    }

    #[test]
    fn a_number_agrees_within_its_tolerance() {
        // 2.20 and 2.21 Mbit/s with the calls' 1; published are 2.1.
        assert_eq!(verdicts(1.20, 1.0, 0.1).0, [true; 6]);
        assert_eq!(verdicts(1.21, 1.0, 0.1).0, [true, true, true, false, true, true]);
        assert_eq!(verdicts(1.1, 1.51, 0.1).0, [true, true, true, true, false, true]);
        assert_eq!(verdicts(1.1, 1.0, 0.31).0, [true, true, true, true, true, false]);
    }

    #[test]
    fn todays_forms_are_alternatives() {
        let of = |scheme, factor: f64| runs(scheme, factor, 1.0, 1.0);
        let labels = ["i-tcp as published", "cicada as published", "i-tcp", "cicada"];
        let schemes = labels.map(|label| of(label, 1.1)).to_vec();
        let rows = rows(&setting(), &Runs::made_up("cicada", schemes));
        let published = |row: &&Row| row.scheme.ends_with("as published");
        assert_eq!((rows.len(), rows.iter().filter(published).count()), (20, 10));
        assert!(rows.iter().all(|row| row.measured.is_some() && row.alternative != published(&row)));
    }

    #[test]
    fn a_lost_variance_has_no_row_and_no_claim() {
        let mut setting = setting();
        setting.cicada.variance_ms2 = None;
        let schemes = vec![runs("i-tcp", 1.0, 2.0, 1.0), runs("cicada", 1.1, 1.0, 0.1)];
        let rows = of_pair(&setting, &Runs::made_up("cicada", schemes), PAIRS[1]);
        assert_eq!(rows.iter().filter(|row| row.metric.contains("variance")).count(), 1);
        assert_eq!(rows.len(), 8);
    }
}
