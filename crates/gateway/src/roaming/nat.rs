//! Access points that translate the addresses of their clients, with the kernel's NAT: translations that follow a
//! client (CICADA, section III), on two levels.
//!
//! | module | content |
//! |---|---|
//! | [`mapping`] | a translation as a value, and its form in messages |
//! | [`access_point`] | [`Translations`]: gives the translations of clients, takes them up, and removes them |
//! | [`central`] | [`Central`]: the translator of the site, which redirects its own entries |
//! | [`guard`] | [`Guard`]: packets that come before their translation get no other one, and no reset |
//! | `table` | the guard's table of nftables, as netlink messages |
//!
//! The kernel translates, by rules that are not ours. What moves are the entries of its connection tracking:
//!
//! ```text
//!                    old access point               new access point          central translator
//! client : port  ->  its address : port 1     ->    its address : port 2
//!                                                            ---- redirect ---->  port 1 of the old one is
//!                                                            <--- redirected ---  port 2 of the new one;
//!                                                    the client is served         outside, nothing changes
//! ```
//!
//! The files do not know the hand-offs; [`handoffs`](super::handoffs) decides when what happens.

pub mod access_point;
pub mod central;
pub mod guard;
pub mod mapping;
mod table;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use lasthop_linux::conntrack::Conntrack;
use lasthop_linux::neighbours::Neighbours;
use lasthop_packet::Prefix;

pub use access_point::Translations;
pub use central::Central;
pub use guard::Guard;

/// A gateway's part in the translation of a site.
#[derive(Debug)]
pub enum Nat {
    /// It translates the addresses of its clients.
    AccessPoint {
        /// Their translations.
        translations: Translations,
        /// The name of the gateway that translates the site.
        central: String,
    },
    /// It translates the site.
    Central(Central),
}

impl Nat {
    /// An access point that translates its clients' addresses, which have this prefix, to its own one.
    ///
    /// The sockets belong to the network namespace of the calling thread.
    ///
    /// # Errors
    /// Those of netlink sockets, and of creating the guard's table.
    pub fn access_point(outside: Ipv4Addr, clients: Prefix, central: String) -> io::Result<Self> {
        let (conntrack, neighbours) = (Conntrack::open()?, Neighbours::open()?);
        let guard = Guard::open(Some(clients))?;
        let translations = Translations::new(conntrack, neighbours, guard, clients, outside);
        Ok(Self::AccessPoint { translations, central })
    }

    /// The central translator, which knows the last redirection of this many clients.
    ///
    /// # Errors
    /// As [`Nat::access_point`].
    pub fn central(max_clients: usize) -> io::Result<Self> {
        Ok(Self::Central(Central::new(Conntrack::open()?, Guard::open(None)?, max_clients)))
    }
}

/// The address of an access point outside, to which it translates: where others reach it.
pub fn outside_of(address: SocketAddr) -> Option<Ipv4Addr> {
    match address {
        SocketAddr::V4(address) => Some(*address.ip()),
        SocketAddr::V6(_) => None,
    }
}
