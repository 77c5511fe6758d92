//! The reasons for which a scenario cannot be tried.

use std::io;
use std::path::PathBuf;

use lasthop_config::words::did_you_mean;
use lasthop_scenario::BuildError;
use lasthop_scenario::Stopped;
use thiserror::Error;

use lasthop_emulator::DeviceError;
use lasthop_gateway::GatewayError;
use lasthop_gateway::control::AskError;
use lasthop_linux::namespace::IpError;

/// The reason for which a scenario cannot be tried.
#[derive(Debug, Error)]
pub enum TrialError {
    /// A program instead of the gateway did not start.
    #[error("{}, instead of the gateway: {error}", path.display())]
    Program {
        /// The program.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A setting of the scenario makes no sense between real hosts.
    #[error("{key}: {problem}")]
    Unsuitable {
        /// The key of the setting.
        key: String,
        /// The problem, and the expected value.
        problem: String,
    },
    /// The links between the hosts cannot be built.
    #[error("the links between real hosts: {0}")]
    Links(#[from] BuildError),
    /// A network namespace cannot be created.
    #[error("cannot create a host (this requires root and a kernel with network namespaces): {0}")]
    Namespace(#[source] io::Error),
    /// `ip` failed.
    #[error(transparent)]
    Ip(#[from] IpError),
    /// A device cannot be created.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A setting of the hosts' kernel cannot be made.
    #[error("try.sysctl: cannot set net.{}: {error}", path.replace('/', "."))]
    Sysctl {
        /// Its path below `/proc/sys/net`.
        path: String,
        /// The cause.
        error: io::Error,
    },
    /// The kernel does not have a congestion control.
    #[error(
        "the kernel has no congestion control {name:?}; `modprobe tcp_{name}` may add it; otherwise choose another"
    )]
    Congestion {
        /// Its name.
        name: String,
        /// The row that requires it, if it is the row's own.
        row: Option<String>,
    },
    /// A guest's kernel does not have a congestion control.
    #[error(
        "the kernel has no congestion control {name:?}{}; expected one or more of: {known}",
        did_you_mean(name, &known.split(' ').collect::<Vec<_>>())
    )]
    GuestCongestion {
        /// Its name.
        name: String,
        /// Those that it has, separated by spaces.
        known: String,
    },
    /// The simulator does not have a congestion control.
    #[error(
        "the simulator has no congestion control {name:?}{}; expected one or more of: {known}",
        did_you_mean(name, &known.split(", ").collect::<Vec<_>>())
    )]
    NoPrediction {
        /// Its name.
        name: String,
        /// The row that requires it, if it is the row's own.
        row: Option<String>,
        /// The congestion controls of the simulator.
        known: String,
    },
    /// The simulator was stopped.
    #[error("the prediction for {of}: {error}")]
    Prediction {
        /// The flows and sessions of the run.
        of: String,
        /// The cause.
        error: Stopped,
    },
    /// The gateway cannot run the scheme.
    #[error("schemes: {0}")]
    Gateway(String),
    /// The gateway did not start, or failed.
    #[error("the gateway: {0}")]
    Daemon(#[from] GatewayError),
    /// A gateway in a process of its own did not start.
    #[error("the process of gateway {number}: {error}")]
    GatewayProcess {
        /// Its number, from 0.
        number: usize,
        /// The cause.
        error: io::Error,
    },
    /// A gateway did not answer on its control socket.
    #[error(transparent)]
    Unanswered(AskError),
    /// The files of gateways cannot be created.
    #[error("the files of gateways, in {}: {error}", folder.display())]
    Files {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A transfer failed.
    #[error("{what}: {error}")]
    Transfer {
        /// The work in progress.
        what: String,
        /// The cause.
        error: io::Error,
    },
    /// The Wi-Fi stack of the hosts' kernel cannot be used.
    #[error("the kernel's Wi-Fi: {0}")]
    Wifi(String),
    /// The guest of a run in simulated time failed.
    #[error("the guest: {0}")]
    Guest(String),
    /// One of several guests of a run in simulated time failed.
    #[error("the guest with kernel {kernel}: {problem}")]
    GuestOf {
        /// The version or the path of its kernel.
        kernel: String,
        /// The problem.
        problem: String,
    },
    /// A message to the guest has no form.
    #[error("the guest's job: {0}")]
    Control(#[source] serde_json::Error),
    /// The user interrupted the trial.
    #[error("interrupted")]
    Interrupted,
}

impl TrialError {
    /// The error about a key whose value makes no sense between real hosts.
    pub(super) fn unsuitable(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Unsuitable { key: key.into(), problem: problem.into() }
    }
}
