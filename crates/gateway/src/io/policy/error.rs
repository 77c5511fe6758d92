//! Errors of the TUN backend.

use std::io;

use thiserror::Error;

use crate::io::claim::ClaimError;
use lasthop_linux::device::DeviceError;

/// The number of rule priorities in each address family.
pub(crate) const RULES: usize = 1000;

/// Why packets cannot be diverted.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// A port that does not exist, or that another gateway has claimed.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// A TUN device cannot be created.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A setting of a device cannot be changed.
    #[error("cannot set {setting} of the device {name}: {error}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// The name of the device.
        name: String,
        /// The kernel's error.
        #[source]
        error: io::Error,
    },
    /// `ip` cannot be started.
    #[error("cannot run `ip`: {0}; install iproute2 (OpenWrt: ip-full)")]
    Start(#[source] io::Error),
    /// `ip` failed.
    #[error(
        "`ip` failed: {message}, in: {commands}; this requires CAP_NET_ADMIN, CONFIG_IP_MULTIPLE_TABLES and the `ip` of iproute2"
    )]
    Refused {
        /// Its error messages.
        message: String,
        /// Its commands.
        commands: String,
    },
    /// The existing rules cannot be listed.
    #[error("cannot list the rules of policy routing: {0}")]
    Rules(#[source] io::Error),
    /// The number of rules exceeds the number of priorities.
    #[error(
        "the selection requires {0} rules, but there are priorities for {RULES} only; name fewer ports or prefixes"
    )]
    TooMany(usize),
    /// The thread that checks the rules cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// A descriptor to wait for cannot be created, or a port has just vanished.
    #[error("cannot wait for frames on a port: {0}")]
    Wait(#[source] io::Error),
}
