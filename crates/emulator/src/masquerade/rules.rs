//! The rules of an emulation, by whichever program.
//!
//! A note stands beside the rules of an emulation for each device whose forwarding is to be switched off
//! at its end: it was off before. The kernel keeps the notes with the rules if the emulation is killed.

use serde::{Deserialize, Serialize};

use super::{iptables, nft};
use lasthop_linux::namespace::Namespace;

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

    /// Those of all emulations here, of killed ones, too, as far as they can be listed.
    pub(super) fn all(namespace: &Namespace) -> Vec<Self> {
        let [by_nft, by_iptables] = [Self::by_nft(namespace), Self::by_iptables(namespace)];
        [by_nft.unwrap_or_default(), by_iptables.unwrap_or_default()].concat()
    }

    /// Those of all other emulations. It is an error if the program that added these rules cannot list
    /// any. If the other program cannot, it does not work on this machine and has added none.
    pub(super) fn others(&self, namespace: &Namespace) -> Result<Vec<Self>, String> {
        let [mut by_nft, mut by_iptables] = [Self::by_nft(namespace), Self::by_iptables(namespace)];
        match self {
            Self::Nft { .. } => by_iptables = by_iptables.or_else(|_| Ok(Vec::new())),
            Self::Iptables { .. } => by_nft = by_nft.or_else(|_| Ok(Vec::new())),
        }
        let all = [by_nft?, by_iptables?].concat();
        Ok(all.into_iter().filter(|rules| rules != self).collect())
    }

    fn by_nft(namespace: &Namespace) -> Result<Vec<Self>, String> {
        Ok(nft::devices(namespace)?.into_iter().map(|device| Self::Nft { device }).collect())
    }

    fn by_iptables(namespace: &Namespace) -> Result<Vec<Self>, String> {
        let rules = iptables::rules(namespace)?.into_iter();
        Ok(rules.map(|(subnet, device)| Self::Iptables { subnet, device }).collect())
    }

    /// The device that they are for.
    pub(super) fn device(&self) -> &str {
        match self {
            Self::Nft { device } | Self::Iptables { device, .. } => device,
        }
    }

    /// Removes them, and their notes.
    pub(super) fn remove(&self, namespace: &Namespace) -> Result<(), String> {
        match self {
            Self::Nft { device } => nft::remove(namespace, device),
            Self::Iptables { subnet, device } => iptables::remove(namespace, subnet, device),
        }
    }

    /// The numbers of the devices that they have a note about.
    pub(super) fn notes(&self, namespace: &Namespace) -> Result<Vec<u32>, String> {
        match self {
            Self::Nft { device } => nft::notes(namespace, device),
            Self::Iptables { device, .. } => iptables::notes(namespace, device),
        }
    }

    /// Gives them one.
    pub(super) fn note(&self, namespace: &Namespace, number: u32) -> Result<(), String> {
        match self {
            Self::Nft { device } => nft::note(namespace, device, number),
            Self::Iptables { device, .. } => iptables::note(namespace, device, number),
        }
    }
}
