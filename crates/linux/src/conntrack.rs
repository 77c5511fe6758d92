//! The connections that the kernel tracks and whose addresses it translates: its table, by netlink (`ctnetlink`,
//! `linux/netfilter/nfnetlink_conntrack.h`).
//!
//! Only TCP and UDP over IPv4: what other protocols have, nobody moves.

mod form;

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink;

use crate::netlink::{AnswerKind, Request, Socket};

/// The table of the network namespace in which it was opened. Requests need `CAP_NET_ADMIN`.
#[derive(Debug)]
pub struct Conntrack(Socket);

/// What packets in one direction of a connection have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tuple {
    /// The protocol.
    pub protocol: Protocol,
    /// Where they come from.
    pub source: SocketAddrV4,
    /// Where they go.
    pub destination: SocketAddrV4,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// A connection of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Packets as the end that opened the connection sends them.
    pub original: Tuple,
    /// Packets as the other end sends them. Without translation it is the reverse of `original`.
    pub reply: Tuple,
    /// Which bits of its state are set.
    pub status: Status,
    /// How long it stays without a packet.
    pub timeout: Duration,
    /// The mark (`ct mark`), which rules set.
    pub mark: u32,
    /// TCP's state; `None` for UDP.
    pub tcp: Option<TcpState>,
}

/// What is known of a connection (`enum ip_conntrack_status`), as far as it holds on another machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Packets came from both ends.
    pub is_answered: bool,
    /// It is not removed early when the table is full.
    pub is_assured: bool,
}

/// What the kernel knows of a TCP connection. It does not tell sequence numbers and windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpState {
    /// The state (`enum tcp_conntrack`): 1 to 9.
    pub state: u8,
    /// The end that opened the connection, and the other one.
    pub ends: [TcpEnd; 2],
}

/// What the kernel knows of an end of a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpEnd {
    /// The shift of its windows (RFC 7323): at most 14.
    pub window_scale: u8,
    /// Flags (`IP_CT_TCP_FLAG_...`) that hold as long as the connection: [`TcpEnd::LASTING`].
    pub flags: u8,
}

impl TcpState {
    /// The highest state.
    pub const MAX: u8 = 9;
}

impl TcpEnd {
    /// The flags that hold as long as the connection: it shifts its windows, it permits SACK, and it has sent the
    /// first FIN. Others depend on sequence numbers.
    pub const LASTING: u8 = 0x01 | 0x02 | 0x04;
    /// The largest shift.
    pub const MAX_SCALE: u8 = 14;
}

impl Tuple {
    /// Packets in the other direction, if no address is translated.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { protocol: self.protocol, source: self.destination, destination: self.source }
    }
}

impl Entry {
    /// The outside end of a connection whose source is translated, and nothing else.
    pub fn outside(&self) -> Option<SocketAddrV4> {
        let reverse = self.original.reversed();
        let is_translated = self.reply.destination != reverse.destination;
        (is_translated && self.reply.source == reverse.source && self.reply.protocol == reverse.protocol)
            .then_some(self.reply.destination)
    }
}

/// The maximum number of connections that are listed.
const MAX_ENTRIES: usize = 65_536;

/// `NFNL_SUBSYS_CTNETLINK`, in the upper octet, with `IPCTNL_MSG_CT_NEW`, `..._GET` and `..._DELETE`.
const NEW: u16 = 0x0100;
const GET: u16 = 0x0101;
const DELETE: u16 = 0x0102;

impl Conntrack {
    /// Opens it, in the network namespace of the calling thread.
    pub fn open() -> io::Result<Self> {
        Socket::open(Some(netlink::NETFILTER)).map(Self)
    }

    /// The connections that a host has opened: those whose packets have this source. At most 65,536 are returned.
    pub fn opened_by(&mut self, source: Ipv4Addr) -> io::Result<Vec<Entry>> {
        let mut all = Vec::new();
        let body = form::source_filter(source);
        self.ask(GET, AnswerKind::All, &body, |entry| {
            // Kernels before 5.8 do not filter.
            if entry.original.source.ip() == &source && all.len() < MAX_ENTRIES {
                all.push(entry);
            }
            None::<()>
        })?;
        Ok(all)
    }

    /// The connection with this tuple in either direction.
    pub fn with_original(&mut self, original: &Tuple) -> io::Result<Option<Entry>> {
        let body = form::original(original);
        let found =
            self.ask(GET, AnswerKind::One, &body, |entry| (entry.original == *original).then_some(entry));
        found.or_else(|error| if is_absent(&error) { Ok(None) } else { Err(error) })
    }

    /// Adds a connection with the translation of its source to where its replies go.
    ///
    /// The kernel does not check its windows, because it does not know them.
    ///
    /// # Errors
    /// `AlreadyExists`, if a connection has one of its tuples.
    pub fn create(&mut self, entry: &Entry) -> io::Result<()> {
        self.ask(NEW, AnswerKind::New, &form::entry(entry), |_| None::<()>).map(drop)
    }

    /// Removes a connection by the tuple of its packets. Returns whether it was there.
    pub fn delete(&mut self, original: &Tuple) -> io::Result<bool> {
        self.remove(&form::original(original))
    }

    /// Removes a connection by the tuple of its replies. Returns whether it was there.
    pub fn delete_by_reply(&mut self, reply: &Tuple) -> io::Result<bool> {
        self.remove(&form::reply(reply))
    }

    fn remove(&mut self, body: &[u8]) -> io::Result<bool> {
        match self.ask(DELETE, AnswerKind::One, body, |_| None::<()>) {
            Ok(_) => Ok(true),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn ask<T>(
        &mut self,
        kind: u16,
        asks: AnswerKind,
        body: &[u8],
        mut pick: impl FnMut(Entry) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let request = Request { protocol: Some(netlink::NETFILTER), kind, asks, body };
        self.0.request(request, |kind, message| {
            (kind == NEW).then(|| form::read(message)).flatten().and_then(&mut pick)
        })
    }
}

fn is_absent(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NOENT)
}
