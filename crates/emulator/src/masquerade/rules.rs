//! The rules of an emulation, independent of the program that sets them.
//!
//! For each device on which forwarding was disabled before, a record is stored with the rules, so
//! that it is disabled again at the end. The kernel keeps the records with the rules if the
//! emulation is killed.

use serde::{Deserialize, Serialize};

use super::{iptables, nft};
use lasthop_linux::namespace::Namespace;

/// The rules that translate the source address of packets from one device to other hosts into this
/// machine's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rules {
    /// A table of `nft`.
    Nft { device: String },
    /// A rule of `iptables`.
    Iptables { subnet: String, device: String },
}

impl Rules {
    /// Adds the rules with `nft` or, if that fails, with `iptables`. The error has the reasons of
    /// both.
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

    /// Lists the rules of all emulations, including killed ones. A program that cannot list its
    /// rules counts as having none.
    pub(super) fn all(namespace: &Namespace) -> Vec<Self> {
        let [by_nft, by_iptables] = [Self::by_nft(namespace), Self::by_iptables(namespace)];
        [by_nft.unwrap_or_default(), by_iptables.unwrap_or_default()].concat()
    }

    /// Lists the rules of all other emulations. Fails if the program that added these rules cannot
    /// list rules. If the other program cannot, it does not work on this machine and has added
    /// none.
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

    /// The device to which the rules apply.
    pub(super) fn device(&self) -> &str {
        match self {
            Self::Nft { device } | Self::Iptables { device, .. } => device,
        }
    }

    /// Removes the rules and their records.
    pub(super) fn remove(&self, namespace: &Namespace) -> Result<(), String> {
        match self {
            Self::Nft { device } => nft::remove(namespace, device),
            Self::Iptables { subnet, device } => iptables::remove(namespace, subnet, device),
        }
    }

    /// The indices of the devices that are recorded.
    pub(super) fn records(&self, namespace: &Namespace) -> Result<Vec<u32>, String> {
        match self {
            Self::Nft { device } => nft::records(namespace, device),
            Self::Iptables { device, .. } => iptables::records(namespace, device),
        }
    }

    /// Records a device.
    pub(super) fn record(&self, namespace: &Namespace, number: u32) -> Result<(), String> {
        match self {
            Self::Nft { device } => nft::record(namespace, device, number),
            Self::Iptables { device, .. } => iptables::record(namespace, device, number),
        }
    }
}
