//! The rules of an emulation, by whichever program.
//!
//! A note stands beside the rules of an emulation at whose end forwarding is to be switched off: it
//! was off before. The kernel keeps the note with the rules if the emulation is killed.

use serde::{Deserialize, Serialize};

use super::{iptables, nft};
use crate::namespace::Namespace;

/// The rules that put this machine's address on what the hosts behind a device send elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rules {
    /// A table of `nft`.
    Nft { device: String },
    /// A rule of `iptables`.
    Iptables { subnet: String, device: String },
}

impl Rules {
    /// Adds them with `nft`, or else with `iptables`. The error says why neither did it.
    pub(super) fn add(namespace: &Namespace, subnet: &str, device: &str) -> Result<Self, String> {
        let device = device.to_owned();
        match nft::add(namespace, subnet, &device) {
            Ok(()) => Ok(Self::Nft { device }),
            Err(nft) => match iptables::add(namespace, subnet, &device) {
                Ok(()) => Ok(Self::Iptables { subnet: subnet.to_owned(), device }),
                Err(iptables) => Err(format!("{nft}; {iptables}")),
            },
        }
    }

    /// Those of all emulations here, of killed ones, too.
    pub(super) fn all(namespace: &Namespace) -> Vec<Self> {
        let by_nft = nft::devices(namespace).into_iter().map(|device| Self::Nft { device });
        let by_iptables = iptables::rules(namespace).into_iter();
        by_nft.chain(by_iptables.map(|(subnet, device)| Self::Iptables { subnet, device })).collect()
    }

    /// The device that they are for.
    pub(super) fn device(&self) -> &str {
        match self {
            Self::Nft { device } | Self::Iptables { device, .. } => device,
        }
    }

    /// Removes them, and their note.
    pub(super) fn remove(&self, namespace: &Namespace) -> Result<(), String> {
        match self {
            Self::Nft { device } => nft::remove(namespace, device),
            Self::Iptables { subnet, device } => iptables::remove(namespace, subnet, device),
        }
    }

    /// Whether they have a note.
    pub(super) fn has_note(&self, namespace: &Namespace) -> bool {
        match self {
            Self::Nft { device } => nft::has_note(namespace, device),
            Self::Iptables { device, .. } => iptables::has_note(namespace, device),
        }
    }

    /// Gives them one.
    pub(super) fn note(&self, namespace: &Namespace) -> Result<(), String> {
        match self {
            Self::Nft { device } => nft::note(namespace, device),
            Self::Iptables { device, .. } => iptables::note(namespace, device),
        }
    }
}
