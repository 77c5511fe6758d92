//! Errors of the tc backend.

use std::error::Error;
use std::{fs, io, iter};

use aya::EbpfError;
use aya::maps::MapError;
use thiserror::Error;

use crate::io::claim::ClaimError;
use lasthop_linux::device::DeviceError;

/// Why frames cannot be diverted.
#[derive(Debug, Error)]
pub enum DivertError {
    /// An interface that does not exist, or that another gateway has claimed.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// An interface that cannot be queried.
    #[error("cannot query the interface {name}: {error}")]
    Interface {
        /// Its name.
        name: String,
        /// The kernel's error.
        #[source]
        error: io::Error,
    },
    /// An interface without Ethernet, such as a tunnel or a modem in raw IP mode.
    #[error("the interface {name} has no Ethernet header; use the backend tun (policy routing) for it")]
    NotEthernet {
        /// Its name.
        name: String,
    },
    /// A TAP device cannot be created.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The BPF programs.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A test frame was lost on its path ([`super::Divert::try_out`]).
    #[error("the kernel accepts and attaches the BPF programs, but {0}")]
    Lost(&'static str),
    /// The path to a Wi-Fi driver cannot be opened.
    #[error("cannot learn the TX status of frames from a Wi-Fi driver: {0}")]
    TxStatus(#[source] io::Error),
    /// The driver of an interface does not report TX status that can be relied on.
    #[error("{0}")]
    Driver(String),
    /// An interface is back with another driver than the one that reported TX status.
    #[error(
        "{name} has the driver {driver}, and had {known} when the gateway started; with ports.tx-status this takes a restart"
    )]
    OtherDriver {
        /// The interface.
        name: String,
        /// Its driver.
        driver: String,
        /// Its driver at the start.
        known: String,
    },
    /// The thread that checks the programs cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// A descriptor to wait for cannot be created.
    #[error("cannot create an eventfd: {0}")]
    Wait(#[source] io::Error),
}

/// An error of the BPF programs.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// The embedded object and this program disagree on their shared layout.
    #[error("the BPF object does not match this program: {0}; rebuild both (crates/gateway/bpf/build.sh)")]
    Misfit(String),
    /// The kernel does not load the programs.
    #[error("{}", not_loaded(.0))]
    Load(#[source] Box<EbpfError>),
    /// A map or program is missing, or has another type than in the source.
    #[error("the BPF object has no {0} of the expected kind")]
    Missing(&'static str),
    /// A map cannot be read or written.
    #[error("the BPF map {map}: {error}")]
    Map {
        /// Its name.
        map: &'static str,
        /// The kernel's error.
        #[source]
        error: Box<MapError>,
    },
    /// An array cannot be mapped into memory.
    #[error("cannot map the BPF array {map}: {error}; this requires Linux 5.5 or newer")]
    Share {
        /// Its name.
        map: &'static str,
        /// The kernel's error.
        #[source]
        error: io::Error,
    },
    /// A program cannot be attached.
    #[error(
        "cannot attach to {interface}: {error}; this requires Linux 6.6, or CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS \
         (OpenWrt: kmod-sched-bpf)"
    )]
    Attach {
        /// The interface.
        interface: String,
        /// The kernel's error.
        error: String,
    },
    /// A program of a gateway is attached, although no gateway has claimed the interface.
    #[error("a program of another gateway is still attached to {interface}; stop that gateway first")]
    Linked {
        /// The interface.
        interface: String,
    },
}

/// The reason why programs were not loaded, with a remedy for the operator.
fn not_loaded(error: &EbpfError) -> String {
    let causes: Vec<&(dyn Error + 'static)> =
        iter::successors(Some(error as &(dyn Error + 'static)), |error| (*error).source()).collect();
    let of_system = causes.iter().find_map(|error| error.downcast_ref::<io::Error>());
    let verifier_log =
        causes.iter().find_map(|error| match error.downcast_ref::<aya::programs::ProgramError>() {
            Some(aya::programs::ProgramError::LoadError { verifier_log, .. }) => {
                Some(verifier_log.to_string())
            }
            _ => None,
        });
    if of_system.is_some_and(|error| is_refusal(error, &verifier_log.unwrap_or_default(), capabilities())) {
        // The message does not name the map or program that was refused: that varies between
        // attempts.
        return "the kernel does not let this process load BPF programs: this takes CAP_BPF and CAP_NET_ADMIN (before Linux \
                5.11 also LimitMEMLOCK=infinity); run as root, and allow bpf(2) in the container or the systemd unit"
            .to_owned();
    }
    let cause = with_sources(error);
    format!(
        "the kernel rejects the BPF programs: {cause}; this takes Linux 5.8 or newer with CONFIG_BPF_SYSCALL"
    )
}

/// Whether an error of bpf(2) indicates that the process lacks a privilege. EPERM does. EACCES also
/// results if the verifier rejects a program: then it has written a log, or the process has the
/// necessary capabilities.
fn is_refusal(error: &io::Error, verifier_log: &str, capabilities: Option<u64>) -> bool {
    let is_rejection = !verifier_log.trim().is_empty()
        || (error.raw_os_error() == Some(rustix::io::Errno::ACCESS.raw_os_error())
            && capabilities.is_some_and(may_load_programs));
    error.kind() == io::ErrorKind::PermissionDenied && !is_rejection
}

/// Whether a process with these effective capabilities may load programs for network interfaces
/// (capabilities(7)).
const fn may_load_programs(capabilities: u64) -> bool {
    const NET_ADMIN: u64 = 1 << 12;
    const SYS_ADMIN: u64 = 1 << 21;
    const BPF: u64 = 1 << 39;
    capabilities & NET_ADMIN != 0 && capabilities & (BPF | SYS_ADMIN) != 0
}

/// The effective capabilities of this process, if they are known.
fn capabilities() -> Option<u64> {
    effective_in(&fs::read_to_string("/proc/self/status").ok()?)
}

/// The effective capabilities in a status file of proc(5).
fn effective_in(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(value.trim(), 16).ok()
}

/// An error with its causes: aya's errors name the system call, and only their sources have the
/// kernel's error.
pub(super) fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let source_text = source.to_string();
        if !text.contains(&source_text) {
            text = format!("{text}: {source_text}");
        }
        next = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_by_the_verifier_is_not_reported_as_a_missing_privilege() {
        let [denied, not_permitted] =
            [rustix::io::Errno::ACCESS, rustix::io::Errno::PERM].map(io::Error::from);
        let all = effective_in("Name:\tlasthop\nCapPrm:\t0000000000000000\nCapEff:\t000001ffffffffff\n");
        let (none, network) = (Some(0), Some(1 << 12));
        let log = "0: R1=ctx() R10=fp0\ninvalid access to packet";
        for (error, log, capabilities, expected) in [
            (&denied, log, none, false),
            (&denied, "", all, false),
            (&denied, "", none, true),
            (&denied, "", network, true),
            (&denied, "", None, true),
            (&denied, " \n", none, true),
            (&not_permitted, "", none, true),
            // In a container's user namespace, or above the limit of locked memory.
            (&not_permitted, "", all, true),
            (&not_permitted, log, all, false),
            (&io::ErrorKind::InvalidInput.into(), "", none, false),
        ] {
            assert_eq!(is_refusal(error, log, capabilities), expected, "{error}, {log:?}, {capabilities:?}");
        }
        assert_eq!(effective_in("Name:\tlasthop\n"), None);
    }

    #[test]
    fn a_missing_privilege_is_not_reported_as_a_missing_kernel_feature() {
        let message = |kind: io::ErrorKind| {
            let error = MapError::CreateError { name: "hosts".to_owned(), io_error: kind.into() };
            ProgramError::Load(Box::new(error.into())).to_string()
        };
        let refused = message(io::ErrorKind::PermissionDenied);
        assert!(refused.contains("CAP_BPF") && !refused.contains("CONFIG_"), "{refused}");
        let missing = message(io::ErrorKind::Unsupported);
        assert!(missing.contains("CONFIG_BPF_SYSCALL") && !missing.contains("CAP_BPF"), "{missing}");
    }
}
