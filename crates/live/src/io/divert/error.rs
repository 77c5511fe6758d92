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
    #[error("cannot look at the interface {name}: {error}")]
    Interface {
        /// Its name.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// An interface without Ethernet, such as a tunnel or a modem in raw IP mode.
    #[error("the interface {name} has no Ethernet header; use the backend with policy routing for it")]
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
    #[error("the kernel takes the BPF programs and attaches them, but {0}")]
    Lost(&'static str),
    /// What we wait with.
    #[error("cannot make an eventfd: {0}")]
    Wait(#[source] io::Error),
}

/// What is the matter with the BPF programs.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// The object that is compiled in and this program do not agree on what they share.
    #[error("the BPF object does not fit this program: {0}; build both anew (crates/live/bpf/build.sh)")]
    Misfit(String),
    /// The kernel does not take them.
    #[error(
        "the kernel does not take the BPF programs: {0}; it needs CONFIG_BPF_SYSCALL, and we CAP_BPF and CAP_NET_ADMIN"
    )]
    Load(#[source] Box<EbpfError>),
    /// A map or program is not as the source has it.
    #[error("the BPF object has no {0} of the kind that is expected")]
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
    #[error("cannot map the BPF array {map}: {error}; it takes Linux 5.5 or newer")]
    Share {
        /// Which.
        map: &'static str,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// A program cannot be attached.
    #[error(
        "cannot attach to {interface}: {error}; it takes Linux 6.6, or CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS \
         (OpenWrt: kmod-sched-bpf)"
    )]
    Attach {
        /// Where.
        interface: String,
        /// What the kernel said.
        error: String,
    },
    /// A program of ours is there, although nobody has claimed the interface.
    #[error("a program of another gateway stays attached to {interface}; find and stop it first")]
    Linked {
        /// Where.
        interface: String,
    },
}
