//! What a run of a case is asked for.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::plan::Case;
use super::program::Program;

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

/// The kernel of a run in simulated time, and what runs on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    /// The kernel, built for user mode.
    pub kernel: PathBuf,
    /// Its version, or its path if the user has given that.
    pub name: String,
    /// Its first program.
    pub guest: GuestProgram,
    /// How that reads the scenario.
    pub reading: Reading,
    /// Whose Wi-Fi stack the stations of cells have.
    pub wifi: Wifi,
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

/// Whose Wi-Fi stack the stations of cells have in simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wifi {
    /// That of the hosts' kernel, with hostapd and `wpa_supplicant`; the model has the distributed coordination function and
    /// the air.
    #[default]
    Kernel,
    /// That of the model: the hosts have wired devices.
    Model,
}
