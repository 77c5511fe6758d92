//! Kliazovich, "Cross-Layer Performance Optimization in Wireless Local Area Networks",
//! dissertation, University of Trento 2006, chapter 3: LLE-TCP's numbers beside ours. The figures
//! are lost; what is reproduced is what the text says of them.
//!
//! | module | figures | what is in it |
//! |---|---|---|
//! | [`single_hop`] | 3.7 | two stations, datagrams of 100 to 1500 octets |
//! | [`errors`] | 3.9, 3.13 | packet errors on one hop and on three, by the receiver's ACK policy |
//! | [`multi_hop`] | 3.10, 3.11 | a string of one to ten hops |
//! | [`mobile`] | 3.12 | thirty stations that walk, and AODV |
//! | [`infrastructure`] | 3.14 to 3.17 | a server and an access point; ten flows; two sets of five |
//!
//! Not here: figure 3.8 (a testbed of two laptops) and chapter 4.
//!
//! What the dissertation leaves open is chosen once for a group of figures, in the scenario file
//! that the group runs, with its reason. Items with something after the figure's number are
//! experiments with another choice; `docs/src/validation.md` says what follows from them.

pub mod errors;
pub mod infrastructure;
pub mod mobile;
pub mod multi_hop;
pub mod single_hop;

use std::path::Path;

use lasthop_scenario::{BuildError, Overrides, Scenario, file};
use rayon::prelude::*;
use serde_json::{Map, Value};

use crate::compare::{ComparisonRow, compare};
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::stats::Estimate;

/// How far a throughput, a time or an amount may lie from the dissertation's, as a part of it; and
/// an improvement, in points.
const TOLERANCE: f64 = 0.05;
const POINTS: f64 = 5.0;
/// Octets of the headers of IPv4 and TCP.
const HEADERS: u32 = 40;
/// Octets of a datagram where a figure fixes it.
const DATAGRAM: u32 = 1000;

/// Runs everything, with so many seeds behind each number; at least 2.
pub fn reproduce(seeds: u64, progress: &dyn Progress) -> Result<Vec<Row>, BuildError> {
    let effort = Effort { seeds: seeds.max(2), duration: None };
    let parts = [single_hop::rows, errors::rows, multi_hop::rows, mobile::rows, infrastructure::rows];
    let rows: Vec<Vec<Row>> =
        parts.par_iter().map(|rows| rows(effort, progress)).collect::<Result<_, _>>()?;
    Ok(rows.into_iter().flatten().collect())
}

/// How much is run for a number.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Runs.
    pub seeds: u64,
    /// Simulated seconds of each, instead of the scenario's.
    pub duration: Option<u64>,
}

/// A scenario of ours and what an experiment sets in it.
#[derive(Clone, Debug)]
struct Experiment {
    text: &'static str,
    settings: Vec<String>,
}

/// What came of it: without the scheme, and with LLE-TCP as published.
#[derive(Clone, Debug)]
struct Measured {
    tcp: ComparisonRow,
    lle: ComparisonRow,
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    One,
    Del,
    DynDel,
}

impl Acks {
    /// As the dissertation has it.
    const fn name(self) -> &'static str {
        match self {
            Self::One => "OneAck",
            Self::Del => "DelAck",
            Self::DynDel => "DynDelAck",
        }
    }
}

impl Experiment {
    const fn new(text: &'static str) -> Self {
        Self { text, settings: Vec::new() }
    }

    fn set(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// With datagrams of so many octets.
    fn datagram(self, octets: u32) -> Self {
        self.set(format!("tcp.segment={} B", octets - HEADERS))
    }

    fn acks(self, acks: Acks) -> Self {
        match acks {
            Acks::One => self.set("tcp.acks=every-segment"),
            // The delay of ns-2's sink.
            Acks::Del => self.set("tcp.acks=delayed").set("tcp.ack-delay=100 ms"),
            Acks::DynDel => self.set("tcp.acks=dyndelack"),
        }
    }

    /// With errors between the radio and the MAC of a cell, as ns-2 has them: of every frame, and
    /// the MAC repeats what is lost.
    fn errors(self, cell: &str, per_cent: u32) -> Self {
        self.set(format!("wlans.{cell}.errors.packet-error-rate={per_cent}%"))
            .set(format!("wlans.{cell}.errors.control-frames=true"))
    }

    fn scenario(&self, effort: Effort) -> Scenario {
        let duration = effort.duration.map(|seconds| format!("duration={seconds} s"));
        let settings = self.settings.iter().cloned().chain(duration).collect();
        let overrides = Overrides { settings, ..Overrides::default() };
        let scenario = file::parse(self.text, "scenario.toml", Path::new("."), &overrides);
        let mut scenario = scenario.expect("the file is ours, and a test reads it");
        scenario.seeds = (1..=effort.seeds).collect();
        scenario.schemes.truncate(2);
        scenario
    }

    fn run(&self, effort: Effort, progress: &dyn Progress) -> Result<Measured, BuildError> {
        let mut rows = compare(&self.scenario(effort), progress)?.rows.into_iter();
        match (rows.next(), rows.next()) {
            (Some(tcp), Some(lle)) => Ok(Measured { tcp, lle }),
            _ => unreachable!("two schemes under two seeds or more have two rows"),
        }
    }
}

/// Runs experiments in parallel.
fn run_all(
    experiments: &[Experiment],
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Vec<Measured>, BuildError> {
    experiments.par_iter().map(|experiment| experiment.run(effort, progress)).collect()
}

impl Measured {
    fn improvement(&self) -> Option<Estimate> {
        self.lle.improvement_percent
    }
}

/// What a flow or all of them carried in Mbit/s, counted in datagrams of so many octets as ns-2's
/// sink does, headers included.
fn in_datagrams(goodput_bps: Estimate, datagram: u32) -> Estimate {
    let factor = f64::from(datagram) / f64::from(datagram - HEADERS) / 1e6;
    Estimate { mean: goodput_bps.mean * factor, ci95: goodput_bps.ci95.map(|half| half * factor) }
}

/// The mean of several estimates, as if they were independent.
fn mean(of: &[Estimate]) -> Option<Estimate> {
    let mean = Estimate::of(&of.iter().map(|estimate| estimate.mean).collect::<Vec<_>>())?.mean;
    let halves: Option<Vec<f64>> = of.iter().map(|estimate| estimate.ci95).collect();
    let squares = halves.map(|halves| halves.iter().map(|half| half * half).sum::<f64>());
    Some(Estimate { mean, ci95: squares.map(|sum| libm::sqrt(sum) / of.len() as f64) })
}

/// Where a row stands in the dissertation, and what it is about.
struct Head<'a> {
    item: &'a str,
    parameters: Value,
    scheme: &'a str,
    metric: &'a str,
    unit: &'static str,
}

impl Head<'_> {
    /// A number of the text's, ours, and how far apart they may be.
    fn row(self, published: Reference, tolerance: Reference, measured: Option<Estimate>, runs: usize) -> Row {
        Row {
            paper: "lle-tcp",
            item: self.item.to_owned(),
            parameters: self.parameters.as_object().cloned().unwrap_or_else(Map::new),
            scheme: self.scheme.to_owned(),
            metric: self.metric.to_owned(),
            unit: self.unit,
            published,
            measured: measured.map(|estimate| estimate.mean),
            ci95: measured.and_then(|estimate| estimate.ci95),
            runs,
            tolerance,
            agrees: measured.is_some_and(|estimate| tolerance.contains(estimate.mean)),
        }
    }

    /// A throughput, a time, an amount.
    fn amount(self, published: f64, measured: Option<Estimate>, runs: usize) -> Row {
        let tolerance = Reference::Range(published * (1.0 - TOLERANCE), published * (1.0 + TOLERANCE));
        self.row(Reference::Number(published), tolerance, measured, runs)
    }

    /// A number of per cent.
    fn per_cent(self, published: Reference, measured: Option<Estimate>, runs: usize) -> Row {
        let tolerance = match published {
            Reference::Number(number) => Reference::Range(number - POINTS, number + POINTS),
            Reference::Range(from, to) => Reference::Range(from - POINTS, to + POINTS),
            Reference::None => Reference::None,
        };
        self.row(published, tolerance, measured, runs)
    }

    /// A gain of which no number is given: its whole confidence interval is above zero.
    fn above_zero(self, measured: Option<Estimate>, runs: usize) -> Row {
        let least = measured.map(|gain| gain.mean - gain.ci95.unwrap_or(f64::INFINITY));
        let row = self.row(Reference::None, Reference::None, measured, runs);
        Row { agrees: least.is_some_and(|least| least > 0.0), ..row }
    }

    /// A claim without a number.
    fn claim(self, holds: bool, runs: usize) -> Row {
        Row { agrees: holds, ..self.row(Reference::None, Reference::None, None, runs) }
    }
}

/// The schemes' names in rows.
const TCP: &str = "tcp-reno";
const LLE: &str = "lle-tcp as published";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn disagreeing(rows: &[Row]) -> Vec<(&str, &str)> {
        let disagreeing = rows.iter().filter(|row| !row.agrees);
        disagreeing.map(|row| (row.item.as_str(), row.metric.as_str())).collect()
    }

    const QUICK: Effort = Effort { seeds: 2, duration: Some(5) };

    #[test]
    fn throughputs_of_a_single_hop_agree_and_no_ack_policy_has_both_improvements() {
        let rows = single_hop::rows(QUICK, &Silent).expect("it runs");
        let throughputs = rows.iter().filter(|row| row.metric == "throughput");
        assert_eq!(throughputs.filter(|row| row.agrees).count(), 4);
        assert_eq!(
            disagreeing(&rows),
            [
                ("figure 3.7b, an ACK for every segment", "improvement over TCP"),
                ("figure 3.7b, an ACK for every second segment", "improvement over TCP")
            ]
        );
    }

    #[test]
    fn beyond_seven_hops_little_is_left_to_gain() {
        let rows = multi_hop::hops(&[2, 8], QUICK, &Silent).expect("it runs");
        assert!(rows[1].agrees && rows[1].measured < rows[0].measured, "{rows:?}");
    }

    #[test]
    fn one_hop_gains_the_same_whatever_the_error_rate() {
        let rows = errors::single_hop(&[0, 10], QUICK, &Silent).expect("it runs");
        let claims = rows.iter().filter(|row| row.metric.starts_with("changes"));
        let verdicts: Vec<_> = claims.map(|row| (row.item.as_str(), row.agrees)).collect();
        let figure = "figure 3.9";
        let lost = "figure 3.9, lost frames are not repeated";
        assert_eq!(verdicts, [(figure, true), (figure, true), (lost, false), (lost, false)]);
    }

    #[test]
    fn an_access_point_changes_little() {
        let rows = infrastructure::beside_single_hop(&[500, 1500], &[0, 6], QUICK, &Silent);
        assert_eq!(disagreeing(&rows.expect("it runs")), []);
    }
}
