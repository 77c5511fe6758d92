//! What a guest is asked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::here::Here;
use crate::options::Reading;
use crate::radios::Wifi;

/// The job of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Job {
    /// The part of the hosts in a run of a trial.
    Trial(Case),
    /// Programs at both ends of a link.
    Programs(Programs),
}

impl Job {
    /// The directory in which relative paths begin.
    pub(super) fn directory(&self) -> &Path {
        match self {
            Self::Trial(case) => &case.reading.directory,
            Self::Programs(programs) => &programs.directory,
        }
    }
}

/// How the guest finds the run that it is part of: as this process has found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// How it reads the scenario again.
    pub(super) reading: Reading,
    /// The number of the case in the plan.
    pub(super) number: usize,
    /// The interval of samples of each sender.
    pub(super) sample_every: Option<Duration>,
    /// Whose the Wi-Fi stack is.
    pub(super) wifi: Wifi,
    /// The nodes whose hosts the guest has.
    pub(super) here: Here,
}

/// A command at the near end of a link, and programs at its far end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// What runs at the far end, each a line for `sh -c`.
    pub far: Vec<String>,
    /// The directory in which all of them start.
    pub directory: PathBuf,
    /// The environment of all of them.
    pub environment: Vec<(OsString, OsString)>,
    /// Directories in which they may write: absolute paths.
    pub writable: Vec<PathBuf>,
    /// The longest time that the command may take.
    pub limit: Duration,
    /// Whether the command has standard input.
    pub has_input: bool,
}
