//! A DNS relay: the client reaches the resolvers of this machine at the gateway's address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use super::machine::Machine;
use super::relay::Relays;

/// The timeout for all resolvers together: that of clients for one (resolv.conf(5)).
const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum length of a datagram, in octets.
const LONGEST: usize = 65_535;

/// The socket that receives queries, and the resolvers.
#[derive(Debug)]
pub(super) struct DnsRelay {
    socket: Arc<UdpSocket>,
    resolvers: Vec<SocketAddr>,
}

impl DnsRelay {
    /// Opens the socket for these resolvers, which are queried in this order. `None` without
    /// resolvers, or if a resolver of this machine listens at all addresses and needs no relay.
    pub(super) fn open(gateway: Ipv4Addr, resolvers: Vec<SocketAddr>) -> Option<Self> {
        if resolvers.is_empty() {
            return None;
        }
        let socket = UdpSocket::bind((gateway, 53)).ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(Self { socket: Arc::new(socket), resolvers })
    }

    /// Starts a relay for each pending query of the client.
    pub(super) fn answer(&self, clients: &[IpAddr], machine: &Arc<Machine>, relays: &Relays) {
        let mut buffer = vec![0; LONGEST];
        while let Ok((len, from)) = self.socket.recv_from(&mut buffer) {
            if !clients.contains(&from.ip()) {
                continue;
            }
            let (query, resolvers) = (buffer[..len].to_vec(), self.resolvers.clone());
            let (machine, socket) = (Arc::clone(machine), Arc::clone(&self.socket));
            relays.answer(move || {
                let answer = match query_in_order(&machine, &resolvers, &query) {
                    Ok(answer) => answer,
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => server_failure(query),
                    // A client without an answer retransmits its query.
                    Err(_) => return,
                };
                let _ = socket.send_to(&answer, from);
            });
        }
    }
}

impl AsFd for DnsRelay {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns the answer of the first resolver that sends one.
fn query_in_order(machine: &Machine, resolvers: &[SocketAddr], query: &[u8]) -> io::Result<Vec<u8>> {
    // All resolvers are queried before the client's own timeout.
    let timeout = TIMEOUT / u32::try_from(resolvers.len().max(1)).unwrap_or(1);
    let mut outcome = Err(io::ErrorKind::ConnectionRefused.into());
    for resolver in resolvers {
        outcome = query_one(machine, *resolver, timeout, query);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn query_one(
    machine: &Machine,
    resolver: SocketAddr,
    timeout: Duration,
    query: &[u8],
) -> io::Result<Vec<u8>> {
    let socket = machine.query_socket(resolver, timeout)?;
    socket.send(query)?;
    let mut answer = vec![0; LONGEST];
    let len = socket.recv(&mut answer)?;
    answer.truncate(len);
    Ok(answer)
}

/// Turns a query into the answer that no resolver can be reached (RFC 1035, section 4.1.1: a server
/// failure).
fn server_failure(mut query: Vec<u8>) -> Vec<u8> {
    if let Some([flags, code]) = query.get_mut(2..4) {
        *flags |= 0x80;
        *code = (*code & 0xf0) | 2;
    }
    query
}
