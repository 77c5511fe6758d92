//! What a run of a case is asked for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lasthop_scenario::Scenario;
use serde::{Deserialize, Serialize};

use super::plan::Case;
use super::program::Program;
use super::radios::Wifi;

/// Options for the run of a case.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The interval of samples of each sender; `None` without samples.
    pub sample_every: Option<Duration>,
    /// Set when the user interrupts the run.
    pub stop: &'a AtomicBool,
    /// Programs that run instead of the schemes with the same labels.
    pub programs: &'a [Program],
    /// The kernel in whose simulated time the run is; `None` for this machine's own, in real time.
    pub simulation: Option<&'a Simulation>,
}

impl Options<'_> {
    /// The program that runs in place of the scheme of a case.
    pub(super) fn program(&self, case: &Case) -> Option<&Program> {
        self.programs.iter().find(|program| program.label == case.scheme)
    }
}

/// The most nodes with the same kernel that a label names.
const LABELLED: usize = 3;

/// A kernel of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKernel {
    /// Its file, built for user mode.
    pub path: PathBuf,
    /// Its version; if the user has given its path, the name of its folder in a cache, or the path.
    pub name: String,
    /// Its series, such as 6.12; `None` if it is not known.
    pub series: Option<[u16; 2]>,
}

/// The kernels of a run in simulated time, and what runs on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    /// The kernel of all hosts without one of their own.
    pub kernel: HostKernel,
    /// The kernels of hosts that have their own, by the indices of their nodes.
    pub own_kernels: BTreeMap<usize, HostKernel>,
    /// Its first program.
    pub guest: GuestProgram,
    /// How that reads the scenario.
    pub reading: Reading,
    /// Whose Wi-Fi stack the stations of cells have.
    pub wifi: Wifi,
}

impl Simulation {
    /// The kernel of a node's host.
    pub(super) fn kernel_of(&self, node: usize) -> &HostKernel {
        self.own_kernels.get(&node).unwrap_or(&self.kernel)
    }

    /// The kernels of its hosts, for tables: `6.12.117 (server 6.1.192)`.
    pub fn label(&self, scenario: &Scenario) -> String {
        let mut others: Vec<(&HostKernel, Vec<&str>)> = Vec::new();
        for (node, kernel) in self.own_kernels.iter().filter(|(_, kernel)| kernel.path != self.kernel.path) {
            let name = scenario.nodes[*node].name.as_str();
            match others.iter_mut().find(|(known, _)| known.path == kernel.path) {
                Some((_, nodes)) => nodes.push(name),
                None => others.push((kernel, vec![name])),
            }
        }
        let others = others.iter().map(|(kernel, nodes)| {
            let (first, more) = nodes.split_at(nodes.len().min(LABELLED));
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            format!("{}{more} {}", first.join(", "), kernel.name)
        });
        let others: Vec<String> = others.collect();
        let run = &self.kernel.name;
        if others.is_empty() { run.clone() } else { format!("{run} ({})", others.join("; ")) }
    }
}

/// The first program of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestProgram {
    /// This program: an absolute path.
    pub path: PathBuf,
    /// Its argument that stands for [`Guest::open`](super::simulated::guest::Guest::open).
    pub argument: &'static str,
}

/// How the first program of a guest finds the run of which it is a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The directory in which it reads the scenario again.
    pub directory: PathBuf,
    /// What the scenario's files have: see [`fingerprint`](super::simulated::fingerprint).
    pub fingerprint: u64,
    /// The command line by which this process has read the scenario, without the program and the subcommand.
    pub arguments: Vec<String>,
}
