//! Why packets cannot be led to us.

use std::io;

use thiserror::Error;

use crate::io::claim::ClaimError;
use lasthop_linux::device::DeviceError;

/// For how many rules there are priorities, in each family.
pub(crate) const RULES: usize = 1000;

/// Why packets cannot be led to us.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// A port that is not there, or that another gateway has.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// A TUN device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A setting of it.
    #[error("cannot set {setting} of the device {name}: {error}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// Whose.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// `ip` is not there.
    #[error("cannot run `ip`: {0}; install iproute2 (OpenWrt: ip-full)")]
    Start(#[source] io::Error),
    /// `ip` refused.
    #[error(
        "`ip` failed: {message}, in: {commands}; this requires CAP_NET_ADMIN, CONFIG_IP_MULTIPLE_TABLES and the `ip` of iproute2"
    )]
    Refused {
        /// What it said.
        message: String,
        /// What it was told.
        commands: String,
    },
    /// The kernel does not tell the rules that are there.
    #[error("cannot list the rules of policy routing: {0}")]
    Rules(#[source] io::Error),
    /// More rules than there are priorities for.
    #[error(
        "the selection requires {0} rules, but there are priorities for {RULES} only; name fewer ports or prefixes"
    )]
    TooMany(usize),
    /// What looks after the rules.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// What we wait with, or a port that has just vanished.
    #[error("cannot wait for frames on a port: {0}")]
    Wait(#[source] io::Error),
}
