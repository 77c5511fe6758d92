//! Packets that come before their translation: they get no other one, and no reset.
//!
//! A packet that belongs to no known connection gets a new translation from the kernel, even in the middle of a stream
//! (`nf_conntrack_tcp_loose`), and the server would reset the connection. So a table of nftables drops what a client
//! sends to others until the client is served; its local traffic, such as DHCP, passes. It keeps the packets of
//! connections that are just being replaced from this host, which would reset them.
//!
//! The table does no harm if this process does not act: no client's packets are dropped for more than [`HOLD`] at a
//! time, packets of connections that the kernel knows pass all the same unless their client is moving, and the kernel
//! removes the table when the process ends, also if it is killed.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_linux::netlink::Socket;
use lasthop_packet::Prefix;
use rustix::net::netlink;
use tracing::warn;

use super::table::{self, Set};
use crate::frame::MacAddress;

/// How long the packets of a client are dropped at most. Then they pass, and get new translations if they have none.
pub const HOLD: Duration = Duration::from_secs(5);

/// How long packets for a port are dropped whose connection is moving, if the kernel does not know it.
const MOVING: Duration = Duration::from_secs(2);

/// The first port that is shielded: smaller ones are well-known ports (RFC 6335, section 6).
const FIRST_PORT: u16 = 1024;

/// The most ports in a request.
const PORTS: usize = 512;

/// A table of nftables, as long as this value lives. It belongs to the network namespace in which it was opened.
#[derive(Debug)]
pub struct Guard {
    socket: Socket,
    table: String,
}

impl Guard {
    /// Creates the table, in the network namespace of the calling thread. `clients`: the prefix of the clients'
    /// addresses, if there are clients.
    ///
    /// # Errors
    /// Those of the kernel. It must be Linux 5.12 or later.
    pub fn open(clients: Option<Prefix>) -> io::Result<Self> {
        let mut socket = Socket::open(Some(netlink::NETFILTER))?;
        // A gateway that hands over to this one still has its own.
        let table = format!("lasthop-{}", std::process::id());
        let clients = clients.filter(Prefix::is_ipv4).map(|prefix| {
            // `::ffff:a.b.c.d`, and 96 bits more.
            let (len, [.., a, b, c, d]) = prefix.mapped();
            (Ipv4Addr::new(a, b, c, d), (len - 96) as u8)
        });
        socket.transaction(&table::new(&table, clients, HOLD))?;
        Ok(Self { socket, table })
    }

    /// Drops what a client sends, for [`HOLD`].
    pub fn hold(&mut self, client: MacAddress) {
        self.forget(client);
        self.change(&[table::put(&self.table, Set::Held, &[client.0.to_vec()], Some(HOLD))]);
    }

    /// Lets pass what a client sends.
    pub fn admit(&mut self, client: MacAddress) {
        self.change(&[table::put(&self.table, Set::Served, &[client.0.to_vec()], None)]);
    }

    /// A client is elsewhere: what comes from it next is dropped for [`HOLD`], except on connections that the kernel knows.
    pub fn forget(&mut self, client: MacAddress) {
        let key = [client.0.to_vec()];
        let removals = [Set::Served, Set::Noticed].map(|set| table::remove(&self.table, set, &key));
        self.change(&removals.concat());
    }

    /// For two seconds, drops packets to these ports that belong to no connection which the kernel knows, except well-known
    /// ports, at which this machine may have services.
    pub fn shield(&mut self, ports: &[u16]) {
        let ports: Vec<u16> = ports.iter().copied().filter(|port| *port >= FIRST_PORT).collect();
        for ports in ports.chunks(PORTS) {
            let keys: Vec<_> = ports.iter().map(|port| port.to_be_bytes().to_vec()).collect();
            self.change(&[table::put(&self.table, Set::Moving, &keys, Some(MOVING))]);
        }
    }

    fn change(&mut self, steps: &[table::Step]) {
        if let Err(error) = self.socket.transaction(steps) {
            warn!(%error, "the table of nftables that guards translations is not changed");
        }
    }
}
