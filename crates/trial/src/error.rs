//! Why a scenario cannot be tried.

use std::io;
use std::path::PathBuf;

use lasthop_scenario::BuildError;
use lasthop_scenario::Stopped;
use thiserror::Error;

use lasthop_emulator::DeviceError;
use lasthop_gateway::GatewayError;
use lasthop_linux::namespace::IpError;

/// Why a scenario cannot be tried.
#[derive(Debug, Error)]
pub enum TrialError {
    /// A program in place of the gateway did not start.
    #[error("{}, instead of the gateway: {error}", path.display())]
    Program {
        /// The program.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It is of a kind that makes no sense between real hosts.
    #[error("{key}: {problem}")]
    Unsuitable {
        /// The key of the scenario with what makes no sense.
        key: String,
        /// What is wrong with it, and what was expected.
        problem: String,
    },
    /// The links between the hosts cannot be built.
    #[error("the links between real hosts: {0}")]
    Links(#[from] BuildError),
    /// There is no namespace to be had.
    #[error("cannot create a host (this requires root and a kernel with network namespaces): {0}")]
    Namespace(#[source] io::Error),
    /// `ip` would not.
    #[error(transparent)]
    Ip(#[from] IpError),
    /// There is no device to be had.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A setting of the hosts' kernel cannot be made.
    #[error("try.sysctl: cannot set net.{}: {error}", path.replace('/', "."))]
    Sysctl {
        /// Which.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// The kernel does not have a congestion control.
    #[error(
        "the kernel has no congestion control {name:?}; `modprobe tcp_{name}` may add it; otherwise choose another"
    )]
    Congestion {
        /// Its name.
        name: String,
        /// The row whose own it is, if it is one's.
        row: Option<String>,
    },
    /// The simulator does not have a congestion control.
    #[error("the simulator has no congestion control {name:?}; expected one or more of: {known}")]
    NoPrediction {
        /// Its name.
        name: String,
        /// The row whose own it is, if it is one's.
        row: Option<String>,
        /// Those that it has.
        known: String,
    },
    /// The simulator was stopped.
    #[error("the prediction for {of}: {error}")]
    Prediction {
        /// The flows and sessions of the run.
        of: String,
        /// Why.
        error: Stopped,
    },
    /// The gateway cannot run the scheme.
    #[error("schemes: {0}")]
    Gateway(String),
    /// The gateway would not start, or broke.
    #[error("the gateway: {0}")]
    Daemon(#[from] GatewayError),
    /// A transfer failed.
    #[error("{what}: {error}")]
    Transfer {
        /// The work under way.
        what: String,
        /// Why.
        error: io::Error,
    },
    /// The user wanted it to end.
    #[error("interrupted")]
    Interrupted,
}

impl TrialError {
    /// The value of a key makes no sense between real hosts.
    pub(super) fn unsuitable(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Unsuitable { key: key.into(), problem: problem.into() }
    }
}
