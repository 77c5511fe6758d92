//! Whether address translation is set up on this machine. The kernel is asked directly: neither
//! `nft` nor `iptables` has to be installed.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};

/// What is known of address translation in the network namespace of the calling thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Translation {
    /// There is none.
    None,
    /// There is a chain or a table for it, whatever its rules are.
    Found(NatRule),
    /// It cannot be determined, for this reason.
    Unknown(String),
}

/// Where rules that translate addresses are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NatRule {
    /// A chain of nftables, which is where `iptables-nft` puts its own.
    Chain {
        /// Its table.
        table: String,
        /// Its name.
        chain: String,
    },
    /// The table `nat` of the older iptables.
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

/// Looks for address translation; `proc` is `/proc/thread-self/net`.
pub(super) fn look(proc: &Path) -> Translation {
    for names in ["ip_tables_names", "ip6_tables_names"] {
        match has_nat(&proc.join(names)) {
            Ok(true) => return Translation::Found(NatRule::Table),
            Ok(false) => {}
            Err(error) => return Translation::Unknown(format!("cannot read {names}: {error}")),
        }
    }
    match ask_nftables() {
        Ok(Some(rule)) => Translation::Found(rule),
        Ok(None) => Translation::None,
        Err(error) => Translation::Unknown(format!("cannot query nftables: {error}")),
    }
}

/// Whether the older iptables have a table `nat` here. The kernel makes it when somebody uses it,
/// and keeps it. A file that is not there belongs to a kernel without them.
fn has_nat(names: &Path) -> io::Result<bool> {
    match fs::read_to_string(names) {
        Ok(names) => Ok(names.lines().any(|name| name == "nat")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// How long the kernel may take for an answer that it gives at once.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Has nftables list its chains (`linux/netfilter/nf_tables.h`); returns one that translates.
fn ask_nftables() -> io::Result<Option<NatRule>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = match socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::NETFILTER)) {
        Err(Errno::PROTONOSUPPORT) => return Ok(None),
        socket => socket?,
    };
    write(&socket, &request())?;
    let mut answer = vec![0; 64 * 1024];
    loop {
        poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&PATIENCE))?;
        let len = read(&socket, &mut answer)?;
        match read_answer(&answer[..len])? {
            Answer::Found(rule) => return Ok(Some(rule)),
            Answer::End => return Ok(None),
            Answer::More => {}
        }
    }
}

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// `NFNL_SUBSYS_NFTABLES` in the upper octet, `NFT_MSG_GETCHAIN` and `NFT_MSG_NEWCHAIN` in the
/// lower.
const GET_CHAIN: u16 = 0x0a04;
const NEW_CHAIN: u16 = 0x0a03;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// `struct nlmsghdr`, and `struct nfgenmsg` behind it.
const HEADER: usize = 16;
const FAMILY: usize = 4;
/// Attributes of a chain.
const TABLE: u16 = 1;
const NAME: u16 = 3;
const TYPE: u16 = 7;

/// Asks for the chains of all families.
fn request() -> [u8; HEADER + FAMILY] {
    let mut request = [0; HEADER + FAMILY];
    request[..4].copy_from_slice(&((HEADER + FAMILY) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&GET_CHAIN.to_ne_bytes());
    request[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    request
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Found(NatRule),
    End,
    More,
}

/// Reads the messages of one datagram.
fn read_answer(mut octets: &[u8]) -> io::Result<Answer> {
    while let Some((message, rest)) = message(octets) {
        octets = rest;
        match u16::from_ne_bytes([message[4], message[5]]) {
            NLMSG_DONE => return Ok(Answer::End),
            NLMSG_ERROR => {
                let code = message.get(HEADER..HEADER + 4).and_then(|code| code.try_into().ok());
                let error = code.map_or(0, i32::from_ne_bytes).wrapping_neg();
                // A kernel without nftables knows no such request.
                let is_absent = error == Errno::INVAL.raw_os_error();
                return if is_absent { Ok(Answer::End) } else { Err(io::Error::from_raw_os_error(error)) };
            }
            NEW_CHAIN => {
                if let Some(rule) = message.get(HEADER + FAMILY..).and_then(rule_of) {
                    return Ok(Answer::Found(rule));
                }
            }
            _ => {}
        }
    }
    Ok(Answer::More)
}

/// The chain that these attributes describe, if it translates.
fn rule_of(mut attributes: &[u8]) -> Option<NatRule> {
    let (mut table, mut chain, mut translates) = (String::new(), String::new(), false);
    while let Some((attribute, rest)) = attribute(attributes) {
        attributes = rest;
        let value = attribute.get(4..)?;
        let text = || String::from_utf8_lossy(value).trim_end_matches('\0').to_owned();
        match u16::from_ne_bytes([attribute[2], attribute[3]]) & 0x3fff {
            TABLE => table = text(),
            NAME => chain = text(),
            TYPE => translates = text() == "nat",
            _ => {}
        }
    }
    translates.then_some(NatRule::Chain { table, chain })
}

/// Splits what netlink puts one after the other, each piece aligned to four octets: a piece of
/// `len` octets that has a header, and the rest. `None` if there is no whole one.
fn split(octets: &[u8], len: usize, header: usize) -> Option<(&[u8], &[u8])> {
    let piece = octets.get(..len).filter(|piece| piece.len() >= header)?;
    Some((piece, octets.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

fn message(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    split(octets, u32::from_ne_bytes(*octets.first_chunk()?) as usize, HEADER)
}

fn attribute(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    split(octets, u16::from_ne_bytes(*octets.first_chunk()?).into(), 4)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chain(kind: &str) -> Vec<u8> {
        let mut attributes = Vec::new();
        for (number, text) in [(TABLE, "home"), (NAME, "out"), (TYPE, kind)] {
            let value = [text.as_bytes(), &[0]].concat();
            attributes.extend((4 + value.len() as u16).to_ne_bytes());
            attributes.extend(number.to_ne_bytes());
            attributes.extend(&value);
            attributes.resize(attributes.len().next_multiple_of(4), 0);
        }
        message_of(NEW_CHAIN, &[&[2, 0, 0, 0][..], &attributes].concat())
    }

    fn message_of(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.resize(HEADER, 0);
        message.extend(body);
        message
    }

    #[test]
    fn a_chain_that_translates_is_found_among_others() {
        let rule = NatRule::Chain { table: "home".into(), chain: "out".into() };
        let read = |messages: &[Vec<u8>]| read_answer(&messages.concat()).expect("it is no error");
        assert_eq!(read(&[chain("filter"), chain("nat")]), Answer::Found(rule));
        assert_eq!(read(&[chain("filter")]), Answer::More);
        assert_eq!(read(&[chain("route"), message_of(NLMSG_DONE, &[0; 4])]), Answer::End);
    }

    #[test]
    fn a_kernel_without_nftables_has_no_chains_and_a_refusal_is_an_error() {
        let error = |code: i32| read_answer(&message_of(NLMSG_ERROR, &(-code).to_ne_bytes()));
        assert_eq!(error(Errno::INVAL.raw_os_error()).expect("no such request"), Answer::End);
        assert!(error(Errno::PERM.raw_os_error()).is_err());
    }

    #[test]
    fn a_table_of_the_older_iptables_is_found_by_name() {
        let proc = tempfile::tempdir().expect("a directory");
        let write = |text| fs::write(proc.path().join("ip6_tables_names"), text).expect("a file");
        assert!(!has_nat(&proc.path().join("ip6_tables_names")).expect("it need not be there"));
        write("filter\nmangle\n");
        assert_ne!(look(proc.path()), Translation::Found(NatRule::Table));
        write("filter\nnat\n");
        assert_eq!(look(proc.path()), Translation::Found(NatRule::Table));
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(garbage in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_answer(&garbage);
            let _ = rule_of(&garbage);
        }
    }
}
