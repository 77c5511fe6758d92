//! Requests to the kernel over netlink(7), in the calling thread's network namespace. Requests and
//! answers are messages of attributes; no program such as `ip`, `tc` or `nft` is needed.
#![expect(unsafe_code, reason = "rustix has no options of netlink sockets")]

use std::io;
use std::iter::from_fn;
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};

/// A request: a netlink protocol, a message type, and the message after its header.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `NETLINK_...`; `None` for `NETLINK_ROUTE`.
    pub protocol: Option<Protocol>,
    /// The type of the message.
    pub kind: u16,
    /// The kind of answer.
    pub asks: AnswerKind,
    /// The message after its header.
    pub body: &'a [u8],
}

/// The kind of answer that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// A change, or one object: the answer ends with an acknowledgment or an error.
    One,
    /// The creation of an object: as [`One`](Self::One), and an error of the kind `AlreadyExists` if there is one.
    New,
    /// A list of all objects.
    All,
    /// A list of the objects that match the message; an error of the kind `Unsupported` if the
    /// kernel cannot filter (before Linux 4.20).
    AllStrictly,
}

/// An attribute of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// The type, without the flags `NLA_F_...`.
    pub number: u16,
    /// The octets.
    pub value: &'a [u8],
}

/// Maximum time for an answer, which the kernel normally gives at once.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Sends a request, and returns the first result of `pick` for the messages of the answer: `pick`
/// gets the type of each and what follows its header. Errors are those of the kernel.
pub fn request<T>(request: Request<'_>, pick: impl FnMut(u16, &[u8]) -> Option<T>) -> io::Result<Option<T>> {
    Socket::open(request.protocol)?.request(request, pick)
}

/// A socket for requests. It belongs to the network namespace of the thread that opened it, and may be used by others.
#[derive(Debug)]
pub struct Socket {
    file: OwnedFd,
    /// The number of the last request, by which answers to earlier ones are known.
    number: u32,
    answer: Vec<u8>,
}

impl Socket {
    /// A socket for this protocol; `None` for `NETLINK_ROUTE`.
    pub fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let file = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        Ok(Self { file, number: 0, answer: vec![0; 64 * 1024] })
    }

    /// As [`request()`]. The request's protocol is the socket's.
    pub fn request<T>(
        &mut self,
        request: Request<'_>,
        mut pick: impl FnMut(u16, &[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        if request.asks == AnswerKind::AllStrictly {
            check_strictly(&self.file)?;
        }
        self.number = self.number.wrapping_add(1);
        write(&self.file, &request.octets(self.number))?;
        self.receive(self.number, &mut pick)
    }

    /// Sends requests to nftables that take effect together, or not at all: each with its type and flags besides
    /// `NLM_F_REQUEST`, and its message. Errors are those of the kernel for the first that it refuses.
    pub fn transaction(&mut self, requests: &[(u16, u16, Vec<u8>)]) -> io::Result<()> {
        // `NFNL_MSG_BATCH_BEGIN` and `NFNL_MSG_BATCH_END` have a `struct nfgenmsg` that names nftables.
        const BEGIN: u16 = 0x10;
        const END: u16 = 0x11;
        const NFTABLES: [u8; 4] = [0, 0, 0, 10];
        const REQUEST: u16 = 0x1;
        const REQUEST_AND_ACKNOWLEDGE: u16 = 0x5;
        let first = self.number.wrapping_add(1);
        // The kernel may refuse the whole, and then names the begin.
        let mut octets = encoded(BEGIN, REQUEST, first, &NFTABLES);
        for (kind, flags, body) in requests {
            self.number = self.number.wrapping_add(1);
            octets.extend(encoded(*kind, REQUEST_AND_ACKNOWLEDGE | flags, self.number, body));
        }
        octets.extend(encoded(END, REQUEST, self.number, &NFTABLES));
        write(&self.file, &octets)?;
        for number in 0..requests.len() as u32 {
            self.receive(first.wrapping_add(number), &mut |_, _| None::<()>)?;
        }
        Ok(())
    }

    /// Receives the answer to the request with this number.
    fn receive<T>(
        &mut self,
        number: u32,
        pick: &mut impl FnMut(u16, &[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        loop {
            poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&PATIENCE))?;
            let len = read(&self.file, &mut self.answer)?;
            match read_answer(&self.answer[..len], number, pick)? {
                Answer::Found(found) => return Ok(Some(found)),
                Answer::End => return Ok(None),
                Answer::More => {}
            }
        }
    }
}

/// Makes the kernel filter lists by the request's message (`NETLINK_GET_STRICT_CHK`).
fn check_strictly(socket: &OwnedFd) -> io::Result<()> {
    let yes: libc::c_int = 1;
    // SAFETY: the kernel reads one int.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_NETLINK,
            libc::NETLINK_GET_STRICT_CHK,
            (&raw const yes).cast(),
            size_of_val(&yes) as libc::socklen_t,
        )
    };
    if set < 0 { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
}

/// The messages in a datagram: the type of each, and what follows its header.
pub fn messages(mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    from_fn(move || {
        let (message, rest) = message(octets)?;
        octets = rest;
        Some((u16::from_ne_bytes([message[4], message[5]]), &message[HEADER..]))
    })
}

/// The attributes in a sequence of octets; also those nested in an attribute.
pub fn attributes(mut octets: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    from_fn(move || {
        let (attribute, rest) = split(octets, u16::from_ne_bytes(*octets.first_chunk()?).into(), 4)?;
        octets = rest;
        let number = u16::from_ne_bytes([attribute[2], attribute[3]]) & 0x3fff;
        Some(Attribute { number, value: &attribute[4..] })
    })
}

/// The text of an attribute.
pub fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()
}

/// An encoded attribute.
pub fn written(number: u16, value: &[u8]) -> Vec<u8> {
    let mut octets = (4 + value.len() as u16).to_ne_bytes().to_vec();
    octets.extend(number.to_ne_bytes());
    octets.extend(value);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_ACK`, the same with `NLM_F_CREATE | NLM_F_EXCL`, and `NLM_F_REQUEST | NLM_F_DUMP`.
const ONE: u16 = 0x5;
const NEW: u16 = 0x605;
const ALL: u16 = 0x301;
/// `struct nlmsghdr`.
const HEADER: usize = 16;

impl Request<'_> {
    fn octets(&self, number: u32) -> Vec<u8> {
        let flags = match self.asks {
            AnswerKind::One => ONE,
            AnswerKind::New => NEW,
            AnswerKind::All | AnswerKind::AllStrictly => ALL,
        };
        encoded(self.kind, flags, number, self.body)
    }
}

/// A message with its header and a number, padded.
fn encoded(kind: u16, flags: u16, number: u32, body: &[u8]) -> Vec<u8> {
    let mut octets = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    octets.extend(kind.to_ne_bytes());
    octets.extend(flags.to_ne_bytes());
    octets.extend(number.to_ne_bytes());
    octets.resize(HEADER, 0);
    octets.extend(body);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

#[derive(Debug, PartialEq, Eq)]
enum Answer<T> {
    Found(T),
    End,
    More,
}

/// Reads the messages of one datagram that answer the request with this number.
fn read_answer<T>(
    mut octets: &[u8],
    number: u32,
    pick: &mut impl FnMut(u16, &[u8]) -> Option<T>,
) -> io::Result<Answer<T>> {
    while let Some((message, rest)) = message(octets) {
        octets = rest;
        if message[8..12] != number.to_ne_bytes() {
            continue;
        }
        match u16::from_ne_bytes([message[4], message[5]]) {
            NLMSG_DONE => return Ok(Answer::End),
            NLMSG_ERROR => {
                let code = message.get(HEADER..HEADER + 4).and_then(|code| code.try_into().ok());
                let error = code.map_or(0, i32::from_ne_bytes).wrapping_neg();
                // Zero is an acknowledgment.
                return if error == 0 { Ok(Answer::End) } else { Err(io::Error::from_raw_os_error(error)) };
            }
            kind => {
                if let Some(found) = pick(kind, &message[HEADER..]) {
                    return Ok(Answer::Found(found));
                }
            }
        }
    }
    Ok(Answer::More)
}

/// Splits a sequence of elements that are aligned to four octets: returns an element of `len`
/// octets, which include a header of `header`, and the rest. `None` if there is no complete
/// element.
fn split(octets: &[u8], len: usize, header: usize) -> Option<(&[u8], &[u8])> {
    let piece = octets.get(..len).filter(|piece| piece.len() >= header)?;
    Some((piece, octets.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

fn message(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    split(octets, u32::from_ne_bytes(*octets.first_chunk()?) as usize, HEADER)
}

/// Whether an error means that there is no such object.
pub fn is_absent(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::NOENT, Errno::NODEV, Errno::INVAL].contains(&errno))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A message type that the caller looks for.
    const KIND: u16 = 0x0a17;

    fn message_of(kind: u16, body: &[u8]) -> Vec<u8> {
        Request { protocol: None, kind, asks: AnswerKind::One, body }.octets(0)
    }

    fn named(kind: u16, name: &str) -> Vec<u8> {
        message_of(kind, &written(1, name.as_bytes()))
    }

    fn read_all(messages: &[Vec<u8>], wanted: &str) -> io::Result<Answer<String>> {
        let mut pick = |kind: u16, described: &[u8]| {
            let names = attributes(described).map(|attribute| text(attribute.value));
            names.into_iter().find(|name| kind == KIND && name == wanted)
        };
        read_answer(&messages.concat(), 0, &mut pick)
    }

    #[test]
    fn the_picked_object_is_found_among_others_and_among_other_messages() {
        let read = |messages: &[Vec<u8>]| read_all(messages, "ft").expect("it is no error");
        assert_eq!(read(&[named(KIND, "a"), named(KIND, "ft")]), Answer::Found("ft".to_owned()));
        assert_eq!(read(&[named(KIND, "a"), named(KIND + 1, "ft")]), Answer::More);
        assert_eq!(read(&[named(KIND, "a"), message_of(NLMSG_DONE, &[0; 4])]), Answer::End);
    }

    #[test]
    fn answers_to_another_request_are_skipped() {
        let late = encoded(KIND, 0, 6, &written(1, b"ft"));
        assert_eq!(read_all(&[late], "ft").expect("it is no error"), Answer::More);
    }

    #[test]
    fn an_acknowledgment_ends_the_answer_and_a_refusal_is_an_error() {
        let error = |code: i32| read_all(&[message_of(NLMSG_ERROR, &(-code).to_ne_bytes())], "");
        assert_eq!(error(0).expect("an acknowledgment"), Answer::End);
        let refused = error(Errno::PERM.raw_os_error()).expect_err("a refusal");
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(!is_absent(&refused) && is_absent(&Errno::NODEV.into()));
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(garbage in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_answer(&garbage, 0, &mut |_, described| {
                attributes(described).map(|attribute| text(attribute.value)).last()
            });
        }
    }
}
