//! The connections that the kernel tracks and whose addresses it translates: its table, by netlink (`ctnetlink`,
//! `linux/netfilter/nfnetlink_conntrack.h`).
//!
//! Only those of TCP and UDP over IPv4.

mod entry;
mod form;

use std::io;
use std::net::Ipv4Addr;

use rustix::io::Errno;
use rustix::net::netlink;

use crate::netlink::{AnswerKind, Request, Socket};

pub use entry::{Entry, Protocol, Status, TcpEnd, TcpState, Tuple};

/// The table of the network namespace in which it was opened. Requests need `CAP_NET_ADMIN`.
#[derive(Debug)]
pub struct Conntrack(Socket);

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
