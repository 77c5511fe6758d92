//! An experiment of the dissertation: a scenario of this repository, its settings, and its results.

use std::path::Path;

use lasthop_scenario::{Overrides, Scenario, file};
use rayon::prelude::*;

use crate::claim::Effort;
use crate::compare::{ComparisonRow, compare};
use crate::progress::Progress;
use crate::run::RunError;
use crate::stats::Estimate;

/// Octets of the headers of IPv4 and TCP.
const HEADERS: u32 = 40;
/// Octets of a datagram, where they are not varied.
pub(super) const DATAGRAM: u32 = 1000;

/// The receiver's ACK policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acks {
    One,
    Del,
    DynDel,
}

impl Acks {
    /// The dissertation's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::One => "OneAck",
            Self::Del => "DelAck",
            Self::DynDel => "DynDelAck",
        }
    }
}

/// A scenario of this repository with an experiment's settings.
#[derive(Clone, Debug)]
pub(super) struct Experiment {
    text: &'static str,
    settings: Vec<String>,
}

impl Experiment {
    pub(super) const fn new(text: &'static str) -> Self {
        Self { text, settings: Vec::new() }
    }

    pub(super) fn set(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// Sets the octets of a datagram.
    pub(super) fn datagram(self, octets: u32) -> Self {
        self.set(format!("tcp.segment={} B", octets - HEADERS))
    }

    pub(super) fn acks(self, acks: Acks) -> Self {
        match acks {
            Acks::One => self.set("tcp.acks=every-segment"),
            // The ACK delay of ns-2's sink.
            Acks::Del => self.set("tcp.acks=delayed").set("tcp.ack-delay=100 ms"),
            Acks::DynDel => self.set("tcp.acks=dyndelack"),
        }
    }

    /// Sets the agent's ACK policy, which is that of the receiver.
    pub(super) fn agent_follows(self, acks: Acks) -> Self {
        match acks {
            Acks::One => self,
            Acks::Del => self.set("schemes.1.acks=delayed"),
            Acks::DynDel => self.set("schemes.1.acks=dyndelack"),
        }
    }

    /// Adds errors between the radio and the MAC of a cell, as in ns-2: of all frames, and the MAC
    /// retransmits lost frames.
    pub(super) fn errors(self, cell: &str, per_cent: u32) -> Self {
        self.set(format!("wlans.{cell}.errors.packet-error-rate={per_cent}%"))
            .set(format!("wlans.{cell}.errors.control-frames=true"))
    }

    pub(super) fn scenario(&self, effort: Effort) -> Scenario {
        let duration = effort.duration.map(|seconds| format!("duration={seconds} s"));
        let settings = self.settings.iter().cloned().chain(duration).collect();
        let overrides = Overrides { settings, ..Overrides::default() };
        let scenario = file::parse(self.text, "scenario.toml", Path::new("."), &overrides);
        let mut scenario = scenario.expect("the file is ours, and a test reads it");
        scenario.seeds = (1..=effort.seeds).collect();
        scenario.schemes.truncate(2);
        scenario
    }

    pub(super) fn run(&self, effort: Effort, progress: &dyn Progress) -> Result<Measured, RunError> {
        let mut rows = compare(&self.scenario(effort), progress)?.rows.into_iter();
        match (rows.next(), rows.next()) {
            (Some(tcp), Some(lle)) => Ok(Measured { tcp, lle }),
            _ => unreachable!("two schemes under two seeds or more have two rows"),
        }
    }
}

/// The results: without the scheme, and with LLE-TCP as published.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) tcp: ComparisonRow,
    pub(super) lle: ComparisonRow,
}

impl Measured {
    pub(super) fn improvement(&self) -> Option<Estimate> {
        self.lle.improvement_percent
    }
}

/// Runs experiments in parallel.
pub(super) fn run_all(
    experiments: &[Experiment],
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Vec<Measured>, RunError> {
    experiments.par_iter().map(|experiment| experiment.run(effort, progress)).collect()
}

/// The throughput in Mbit/s for a goodput, as ns-2's sink counts it: in datagrams of this length,
/// headers included.
pub(super) fn in_datagrams(goodput_bps: Estimate, datagram: u32) -> Estimate {
    let factor = f64::from(datagram) / f64::from(datagram - HEADERS) / 1e6;
    Estimate { mean: goodput_bps.mean * factor, ci95: goodput_bps.ci95.map(|half| half * factor) }
}
