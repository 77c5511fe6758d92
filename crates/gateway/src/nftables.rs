//! Lists the objects of nftables in the calling thread's network namespace.

use std::io;

use rustix::io::Errno;
use rustix::net::netlink;

use lasthop_linux::netlink::{AnswerKind, Request, request};

/// The kinds of objects (`linux/netfilter/nf_tables.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// `NFT_MSG_GETCHAIN`, answered by `NFT_MSG_NEWCHAIN`.
    Chains,
    /// `NFT_MSG_GETFLOWTABLE`, answered by `NFT_MSG_NEWFLOWTABLE`.
    Flowtables,
}

/// `NFNL_SUBSYS_NFTABLES`, in the upper octet.
const NFTABLES: u16 = 0x0a00;
/// The length of `struct nfgenmsg`; all zeros select all families.
const FAMILY: usize = 4;

/// Lists all objects of a kind, and returns the first result of `pick`, which is called with the
/// attributes of each object. A kernel without nftables has none. The query requires
/// `CAP_NET_ADMIN`.
pub(super) fn dump<T>(what: Listed, mut pick: impl FnMut(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
    let list = Request {
        protocol: Some(netlink::NETFILTER),
        kind: what.request_type(),
        asks: AnswerKind::All,
        body: &[0; FAMILY],
    };
    let found = request(list, |kind, message| {
        message.get(FAMILY..).filter(|_| kind == what.response_type()).and_then(&mut pick)
    });
    // A kernel without nftables does not know the protocol, or the request.
    found.or_else(|error| match Errno::from_io_error(&error) {
        Some(Errno::PROTONOSUPPORT | Errno::INVAL) => Ok(None),
        _ => Err(error),
    })
}

impl Listed {
    const fn request_type(self) -> u16 {
        NFTABLES
            | match self {
                Self::Chains => 4,
                Self::Flowtables => 23,
            }
    }

    const fn response_type(self) -> u16 {
        // `NFT_MSG_NEW...` precedes `NFT_MSG_GET...`.
        self.request_type() - 1
    }
}
