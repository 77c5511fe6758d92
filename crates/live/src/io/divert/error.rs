//! Why frames cannot be diverted.

use std::io;

use aya::EbpfError;
use aya::maps::MapError;
use thiserror::Error;

use crate::device::DeviceError;
use crate::io::claim::ClaimError;

/// Why frames cannot be diverted.
#[derive(Debug, Error)]
pub enum DivertError {
    /// An interface that is not there, or that another gateway has.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// An interface that does not tell what it is.
    #[error("cannot query the interface {name}: {error}")]
    Interface {
        /// Its name.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// An interface without Ethernet, such as a tunnel or a modem in raw IP mode.
    #[error("the interface {name} has no Ethernet header; use the backend tun (policy routing) for it")]
    NotEthernet {
        /// Its name.
        name: String,
    },
    /// A TAP device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The BPF programs.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A frame of our own did not go the whole way ([`super::Divert::try_out`]).
    #[error("the kernel accepts and attaches the BPF programs, but {0}")]
    Lost(&'static str),
    /// What we wait with.
    #[error("cannot create an eventfd: {0}")]
    Wait(#[source] io::Error),
}

/// What is the matter with the BPF programs.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// The object that is compiled in and this program do not agree on what they share.
    #[error("the BPF object does not match this program: {0}; rebuild both (crates/live/bpf/build.sh)")]
    Misfit(String),
    /// The kernel does not take them.
    #[error(
        "the kernel rejects the BPF programs: {0}; they require CONFIG_BPF_SYSCALL, and the gateway requires CAP_BPF and CAP_NET_ADMIN"
    )]
    Load(#[source] Box<EbpfError>),
    /// A map or program is not as the source has it.
    #[error("the BPF object has no {0} of the expected kind")]
    Missing(&'static str),
    /// A map takes no more, or not this.
    #[error("the BPF map {map}: {error}")]
    Map {
        /// Which.
        map: &'static str,
        /// What the kernel said.
        #[source]
        error: Box<MapError>,
    },
    /// An array cannot be shared.
    #[error("cannot map the BPF array {map}: {error}; this requires Linux 5.5 or newer")]
    Share {
        /// Which.
        map: &'static str,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// A program cannot be attached.
    #[error(
        "cannot attach to {interface}: {error}; this requires Linux 6.6, or CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS \
         (OpenWrt: kmod-sched-bpf)"
    )]
    Attach {
        /// Where.
        interface: String,
        /// What the kernel said.
        error: String,
    },
    /// A program of ours is there, although nobody has claimed the interface.
    #[error("a program of another gateway is still attached to {interface}; stop that gateway first")]
    Linked {
        /// Where.
        interface: String,
    },
}
