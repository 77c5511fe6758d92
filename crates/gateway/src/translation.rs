//! Detects address translation on this machine. It queries the kernel directly: neither `nft` nor
//! `iptables` has to be installed.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use super::nftables::{self, Listed};
use lasthop_linux::netlink::{Attribute, attributes, text};

/// Address translation in the network namespace of the calling thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Translation {
    /// No address translation.
    None,
    /// A chain or a table for it exists, whatever its rules are.
    Found(NatRule),
    /// It cannot be determined, for this reason.
    Unknown(String),
}

/// The place of rules that translate addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NatRule {
    /// A chain of nftables, which `iptables-nft` uses as well.
    Chain {
        /// Its table.
        table: String,
        /// Its name.
        chain: String,
    },
    /// The table `nat` of iptables-legacy.
    Table,
}

impl fmt::Display for NatRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain { table, chain } => write!(f, "the chain {chain} of the nftables table {table}"),
            Self::Table => f.write_str("the table nat of iptables-legacy"),
        }
    }
}

/// Detects address translation; `proc` is `/proc/thread-self/net`.
pub(super) fn detect(proc: &Path) -> Translation {
    for names in ["ip_tables_names", "ip6_tables_names"] {
        match has_nat(&proc.join(names)) {
            Ok(true) => return Translation::Found(NatRule::Table),
            Ok(false) => {}
            Err(error) => return Translation::Unknown(format!("cannot read {names}: {error}")),
        }
    }
    match query_nftables() {
        Ok(Some(rule)) => Translation::Found(rule),
        Ok(None) => Translation::None,
        Err(error) => Translation::Unknown(format!("cannot query nftables: {error}")),
    }
}

/// Whether iptables-legacy has a table `nat`. The kernel creates it at its first use, and keeps it.
/// On a kernel without iptables-legacy the file does not exist.
fn has_nat(names: &Path) -> io::Result<bool> {
    match fs::read_to_string(names) {
        Ok(names) => Ok(names.lines().any(|name| name == "nat")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Attributes of a chain (`linux/netfilter/nf_tables.h`).
const TABLE: u16 = 1;
const NAME: u16 = 3;
const TYPE: u16 = 7;

/// Finds a chain of nftables that translates addresses.
fn query_nftables() -> io::Result<Option<NatRule>> {
    nftables::dump(Listed::Chains, rule_of)
}

/// The chain with these attributes, if it translates addresses.
fn rule_of(described: &[u8]) -> Option<NatRule> {
    let (mut table, mut chain, mut translates) = (String::new(), String::new(), false);
    for Attribute { number, value } in attributes(described) {
        match number {
            TABLE => table = text(value),
            NAME => chain = text(value),
            TYPE => translates = text(value) == "nat",
            _ => {}
        }
    }
    translates.then_some(NatRule::Chain { table, chain })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use lasthop_linux::netlink::written;

    fn chain(kind: &str) -> Vec<u8> {
        let of_text = |number, text: &str| written(number, &[text.as_bytes(), &[0]].concat());
        [of_text(TABLE, "home"), of_text(NAME, "out"), of_text(TYPE, kind)].concat()
    }

    #[test]
    fn only_a_chain_of_the_type_nat_translates() {
        let rule = NatRule::Chain { table: "home".into(), chain: "out".into() };
        assert_eq!(rule_of(&chain("nat")), Some(rule));
        assert_eq!(rule_of(&chain("filter")), None);
    }

    #[test]
    fn a_nat_table_of_iptables_legacy_is_found_by_name() {
        let proc = tempfile::tempdir().expect("a directory");
        let write = |text| fs::write(proc.path().join("ip6_tables_names"), text).expect("a file");
        assert!(!has_nat(&proc.path().join("ip6_tables_names")).expect("it need not be there"));
        write("filter\nmangle\n");
        assert_ne!(detect(proc.path()), Translation::Found(NatRule::Table));
        write("filter\nnat\n");
        assert_eq!(detect(proc.path()), Translation::Found(NatRule::Table));
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(garbage in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = rule_of(&garbage);
        }
    }
}
