//! Lists of what nftables has in the calling thread's network namespace, from the kernel itself:
//! `nft` need not be installed.

use std::io;
use std::iter::from_fn;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};

/// What can be listed (`linux/netfilter/nf_tables.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// `NFT_MSG_GETCHAIN`, answered by `NFT_MSG_NEWCHAIN`.
    Chains,
    /// `NFT_MSG_GETFLOWTABLE`, answered by `NFT_MSG_NEWFLOWTABLE`.
    Flowtables,
}

/// An attribute of what is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    pub(super) number: u16,
    pub(super) value: &'a [u8],
}

/// How long the kernel may take for an answer that it gives at once.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Has the kernel list all of a kind, and returns the first that `pick` takes, which gets the
/// attributes of one after the other. A kernel without nftables has none. The kernel answers only
/// processes with `CAP_NET_ADMIN`.
pub(super) fn dump<T>(what: Listed, mut pick: impl FnMut(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = match socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::NETFILTER)) {
        Err(Errno::PROTONOSUPPORT) => return Ok(None),
        socket => socket?,
    };
    write(&socket, &request(what))?;
    let mut answer = vec![0; 64 * 1024];
    loop {
        poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&PATIENCE))?;
        let len = read(&socket, &mut answer)?;
        match read_answer(&answer[..len], what, &mut pick)? {
            Answer::Found(found) => return Ok(Some(found)),
            Answer::End => return Ok(None),
            Answer::More => {}
        }
    }
}

/// The attributes that are written one after the other; also those within an attribute.
pub(super) fn attributes(mut octets: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    from_fn(move || {
        let (attribute, rest) = split(octets, u16::from_ne_bytes(*octets.first_chunk()?).into(), 4)?;
        octets = rest;
        let number = u16::from_ne_bytes([attribute[2], attribute[3]]) & 0x3fff;
        Some(Attribute { number, value: &attribute[4..] })
    })
}

/// The text that an attribute has.
pub(super) fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()
}

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// `NFNL_SUBSYS_NFTABLES`, in the upper octet.
const NFTABLES: u16 = 0x0a00;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// `struct nlmsghdr`, and `struct nfgenmsg` behind it.
const HEADER: usize = 16;
const FAMILY: usize = 4;

impl Listed {
    const fn asked(self) -> u16 {
        NFTABLES
            | match self {
                Self::Chains => 4,
                Self::Flowtables => 23,
            }
    }

    const fn told(self) -> u16 {
        // `NFT_MSG_NEW...` stands before `NFT_MSG_GET...`.
        self.asked() - 1
    }
}

/// Asks for those of all families.
fn request(what: Listed) -> [u8; HEADER + FAMILY] {
    let mut request = [0; HEADER + FAMILY];
    request[..4].copy_from_slice(&((HEADER + FAMILY) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&what.asked().to_ne_bytes());
    request[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    request
}

#[derive(Debug, PartialEq, Eq)]
enum Answer<T> {
    Found(T),
    End,
    More,
}

/// Reads the messages of one datagram.
fn read_answer<T>(
    mut octets: &[u8],
    what: Listed,
    pick: &mut impl FnMut(&[u8]) -> Option<T>,
) -> io::Result<Answer<T>> {
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
            kind if kind == what.told() => {
                if let Some(found) = message.get(HEADER + FAMILY..).and_then(&mut *pick) {
                    return Ok(Answer::Found(found));
                }
            }
            _ => {}
        }
    }
    Ok(Answer::More)
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

/// An attribute as netlink writes it.
#[cfg(test)]
pub(super) fn written(number: u16, value: &[u8]) -> Vec<u8> {
    let mut octets = (4 + value.len() as u16).to_ne_bytes().to_vec();
    octets.extend(number.to_ne_bytes());
    octets.extend(value);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message_of(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.resize(HEADER, 0);
        message.extend(body);
        message
    }

    fn named(kind: u16, name: &str) -> Vec<u8> {
        message_of(kind, &[&[2, 0, 0, 0][..], &written(1, name.as_bytes())].concat())
    }

    fn read_all(messages: &[Vec<u8>], wanted: &str) -> io::Result<Answer<String>> {
        let mut pick = |described: &[u8]| {
            let names = attributes(described).map(|attribute| text(attribute.value));
            names.into_iter().find(|name| name == wanted)
        };
        read_answer(&messages.concat(), Listed::Flowtables, &mut pick)
    }

    #[test]
    fn the_one_that_is_picked_is_found_among_others_and_among_other_messages() {
        let kind = Listed::Flowtables.told();
        let of_another_kind = Listed::Chains.told();
        let read = |messages: &[Vec<u8>]| read_all(messages, "ft").expect("it is no error");
        assert_eq!(read(&[named(kind, "a"), named(kind, "ft")]), Answer::Found("ft".to_owned()));
        assert_eq!(read(&[named(kind, "a"), named(of_another_kind, "ft")]), Answer::More);
        assert_eq!(read(&[named(kind, "a"), message_of(NLMSG_DONE, &[0; 4])]), Answer::End);
    }

    #[test]
    fn a_kernel_without_nftables_has_none_and_a_refusal_is_an_error() {
        let error = |code: i32| read_all(&[message_of(NLMSG_ERROR, &(-code).to_ne_bytes())], "");
        assert_eq!(error(Errno::INVAL.raw_os_error()).expect("no such request"), Answer::End);
        let refused = error(Errno::PERM.raw_os_error()).expect_err("a refusal");
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(garbage in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_answer(&garbage, Listed::Chains, &mut |described| {
                attributes(described).map(|attribute| text(attribute.value)).last()
            });
        }
    }
}
