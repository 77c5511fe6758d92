//! Figures 3.9 and 3.13: packet errors on one hop and on three hops, by the receiver's ACK policy.
//!
//! A packet error rate in ns-2.28 belongs to an error model between the radio and the MAC: it
//! applies to all frames, control frames too, and the MAC retransmits lost frames. So it is here.
//! With up to seven retransmissions of a frame the throughput is not zero at 6 or 9%, where it is
//! zero in the text. It is zero there in the alternative experiment, in which data frames are not
//! retransmitted.

use serde_json::json;

use super::experiment::{Acks, DATAGRAM, Experiment, Measured, run_all};
use super::row::{Head, LLE, POINTS, TCP};
use super::{multi_hop, single_hop};
use crate::claim::Effort;
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::run::RunError;
use crate::stats::Estimate;

/// A throughput counts as zero below this fraction of the throughput without errors: its curve lies
/// on the axis of the plot.
const ZERO: f64 = 0.04;
/// The tolerance around a packet error rate, in percentage points: the text has whole numbers.
const PER_CENT: f64 = 1.0;
/// The suffix of items whose data frames are transmitted once.
const ONCE: &str = ", lost frames are not repeated";
/// The suffix of items whose agent acknowledges as many segments together as the receiver does. The
/// text compares LLE-TCP and TCP under the same policy of the receiver, and does not give the
/// agent's.
const FOLLOWS: &str = ", the agent follows the receiver";

/// Both figures' rows.
pub fn rows(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let mut rows = single_hop(&[0, 2, 4, 6, 8, 10], effort, progress)?;
    rows.extend(three_hops(effort, progress)?);
    Ok(rows)
}

/// Figure 3.9, with these packet error rates in percent.
pub(super) fn single_hop(
    rates: &[u32],
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Vec<Row>, RunError> {
    let experiment = |acks, rate: &u32| {
        Experiment::new(single_hop::FILE).datagram(DATAGRAM).acks(acks).errors("adhoc", *rate)
    };
    let run = |acks, setting: Option<&str>| {
        let experiments =
            rates.iter().map(|rate| setting.into_iter().fold(experiment(acks, rate), Experiment::set));
        run_all(&experiments.collect::<Vec<_>>(), effort, progress)
    };
    let [one, del, dyn_del] = [run(Acks::One, None)?, run(Acks::Del, None)?, run(Acks::DynDel, None)?];
    let figure = "figure 3.9";
    let fewer = "figure 3.9, half as many ACKs";
    let numbers = [
        (figure, Acks::One, 23.0, &one),
        (figure, Acks::Del, 7.0, &del),
        (fewer, Acks::Del, 23.0, &del),
        (fewer, Acks::DynDel, 7.0, &dyn_del),
    ];
    let parameters =
        |acks: Acks| json!({ "per_percent": rates, "datagram_octets": DATAGRAM, "acks": acks.name() });
    let mut rows: Vec<Row> = numbers
        .into_iter()
        .map(|(item, acks, published, measured)| {
            let metric = "mean improvement over TCP";
            let head = Head { item, parameters: parameters(acks), scheme: LLE, metric, unit: "%" };
            head.per_cent(Reference::Number(published), mean_improvement(measured), runs(measured))
        })
        .collect();
    let not_repeated = format!("{figure}{ONCE}");
    let once = Some("wlans.adhoc.short-retry-limit=1");
    let (one_once, del_once) = (run(Acks::One, once)?, run(Acks::Del, once)?);
    let claims = [
        (figure, Acks::One, &one),
        (figure, Acks::Del, &del),
        (&not_repeated, Acks::One, &one_once),
        (&not_repeated, Acks::Del, &del_once),
    ];
    rows.extend(claims.into_iter().map(|(item, acks, measured)| {
        let metric = "changes little with the error rate: improvement within 5 points of its mean";
        let head = Head { item, parameters: parameters(acks), scheme: LLE, metric, unit: "-" };
        // No improvement at all does not change either.
        head.claim((is_level(measured), true), runs(measured))
    }));
    Ok(rows)
}

fn runs(measured: &[Measured]) -> usize {
    measured.iter().map(|measured| measured.lle.runs).sum()
}

fn mean_improvement(measured: &[Measured]) -> Option<Estimate> {
    let improvements: Option<Vec<_>> = measured.iter().map(Measured::improvement).collect();
    improvements.and_then(|improvements| mean(&improvements))
}

/// The mean of several estimates, as if they were independent.
fn mean(of: &[Estimate]) -> Option<Estimate> {
    let mean = Estimate::from_samples(&of.iter().map(|estimate| estimate.mean).collect::<Vec<_>>())?.mean;
    let halves: Option<Vec<f64>> = of.iter().map(|estimate| estimate.ci95).collect();
    let squares = halves.map(|halves| halves.iter().map(|half| half * half).sum::<f64>());
    Some(Estimate { mean, ci95: squares.map(|sum| libm::sqrt(sum) / of.len() as f64) })
}

fn is_level(measured: &[Measured]) -> bool {
    let Some(mean) = mean_improvement(measured) else { return false };
    let is_near = |gain: Estimate| (gain.mean - mean.mean).abs() <= POINTS;
    measured.iter().all(|measured| measured.improvement().is_some_and(is_near))
}

/// An ACK policy over three hops: the improvement published for packet error rates below 4%, and
/// the rate at which TCP's throughput is zero, both in percent.
const POLICIES: [(Acks, f64, f64); 3] =
    [(Acks::DynDel, 15.5, 6.0), (Acks::Del, 9.6, 6.0), (Acks::One, 4.0, 9.0)];
/// Packet error rates of figure 3.13, in percent.
const RATES: [u32; 7] = [0, 1, 2, 3, 6, 9, 14];
/// How many of them are below 4%.
const LOW: usize = 4;
/// Packet error rates in percent, where the lowest with zero throughput is measured.
const FINE_RATES: [u32; 12] = [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];

/// Figure 3.13.
fn three_hops(effort: Effort, progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let (figure, not_repeated) = ("figure 3.13", format!("figure 3.13{ONCE}"));
    let (mut low, mut zero) = (Vec::new(), Vec::new());
    for (acks, improvement, tcp_zero) in POLICIES {
        let measured = run_all(&RATES.map(|rate| repeated(acks, rate)), effort, progress)?;
        low.push(low_row(figure, acks, improvement, &measured[..LOW]));
        // The agent acknowledges each segment in any case.
        if acks != Acks::One {
            let experiments = RATES.map(|rate| repeated(acks, rate).agent_follows(acks));
            let measured = run_all(&experiments[..LOW], effort, progress)?;
            low.push(low_row(&format!("{figure}{FOLLOWS}"), acks, improvement, &measured));
        }
        zero.extend(zero_rows(figure, acks, tcp_zero, &RATES, &measured));
        let measured = run_all(&FINE_RATES.map(|rate| once(acks, rate)), effort, progress)?;
        zero.extend(zero_rows(&not_repeated, acks, tcp_zero, &FINE_RATES, &measured));
    }
    low.extend(zero);
    Ok(low)
}

/// The mean improvement at low error rates.
fn low_row(item: &str, acks: Acks, improvement: f64, measured: &[Measured]) -> Row {
    let parameters = json!({ "per_percent": RATES[..LOW], "hops": 3, "acks": acks.name() });
    let metric = "mean improvement over TCP";
    let head = Head { item, parameters, scheme: LLE, metric, unit: "%" };
    head.per_cent(Reference::Number(improvement), mean_improvement(measured), runs(measured))
}

fn repeated(acks: Acks, rate: u32) -> Experiment {
    Experiment::new(multi_hop::FILE).acks(acks).errors("string", rate)
}

/// The experiment in which data frames are not retransmitted. RTS and CTS are, and have no errors:
/// otherwise the stations of the string would collide.
fn once(acks: Acks, rate: u32) -> Experiment {
    let experiment = Experiment::new(multi_hop::FILE)
        .acks(acks)
        .set(format!("wlans.string.errors.packet-error-rate={rate}%"))
        .set("wlans.string.long-retry-limit=1");
    // Few packets are delivered in a second: a short run would depend on chance.
    if rate == 0 { experiment } else { experiment.set("duration=300 s") }
}

/// The rate at which TCP's throughput is zero, and by how much higher LLE-TCP's is.
fn zero_rows(item: &str, acks: Acks, published: f64, rates: &[u32], measured: &[Measured]) -> Vec<Row> {
    let tcp = first_zero(rates, measured, |measured| measured.tcp.goodput_bps.mean);
    let lle = first_zero(rates, measured, |measured| measured.lle.goodput_bps.mean);
    let number = |value: f64| Estimate { mean: value, ci95: None };
    let parameters = || json!({ "per_percent": rates, "hops": 3, "acks": acks.name() });
    let head = |scheme, metric| Head { item, parameters: parameters(), scheme, metric, unit: "%" };
    let around = Reference::Range(published - PER_CENT, published + PER_CENT);
    let extra = tcp.zip(lle).map(|(tcp, lle)| number(lle - tcp));
    let (lasts, tolerance) = (Reference::Range(1.0, 2.0), Reference::Range(1.0 - PER_CENT, 2.0 + PER_CENT));
    let runs = runs(measured);
    vec![
        head(TCP, "packet error rate of zero throughput").row(
            Reference::Number(published),
            around,
            tcp.map(number),
            runs,
        ),
        head(LLE, "packet error rate of zero throughput above TCP's")
            .row(lasts, tolerance, extra, runs)
            .without_effect(Some(0.0)),
    ]
}

/// The lowest rate in percent at which the throughput is zero.
fn first_zero(rates: &[u32], measured: &[Measured], of: impl Fn(&Measured) -> f64) -> Option<f64> {
    let all = of(measured.first()?);
    let found = measured.iter().position(|measured| of(measured) < ZERO * all)?;
    rates.get(found).map(|rate| f64::from(*rate))
}
