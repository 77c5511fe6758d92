//! The resolvers of this machine, which the host behind a hop finds at the gateway's address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use super::machine::Machine;
use super::relay::Relays;

/// How long the resolvers may take: as long as clients wait for one (resolv.conf(5)).
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest datagram.
const LONGEST: usize = 65_535;

/// Where questions come in.
#[derive(Debug)]
pub(super) struct Questions {
    socket: Arc<UdpSocket>,
    resolvers: Vec<SocketAddr>,
}

impl Questions {
    /// For these resolvers, which are asked in this order. `None` without any, and where a resolver
    /// listens at all addresses, which needs no door.
    pub(super) fn open(gateway: Ipv4Addr, resolvers: Vec<SocketAddr>) -> Option<Self> {
        if resolvers.is_empty() {
            return None;
        }
        let socket = UdpSocket::bind((gateway, 53)).ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(Self { socket: Arc::new(socket), resolvers })
    }

    /// Has those that have come in from guests answered.
    pub(super) fn answer(&self, clients: &[IpAddr], machine: &Arc<Machine>, relays: &Relays) {
        let mut buffer = vec![0; LONGEST];
        while let Ok((len, from)) = self.socket.recv_from(&mut buffer) {
            if !clients.contains(&from.ip()) {
                continue;
            }
            let (question, resolvers) = (buffer[..len].to_vec(), self.resolvers.clone());
            let (machine, socket) = (Arc::clone(machine), Arc::clone(&self.socket));
            relays.answer(move || {
                let answer = match ask_in_turn(&machine, &resolvers, &question) {
                    Ok(answer) => answer,
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => no_answer(question),
                    // A client that hears nothing asks again.
                    Err(_) => return,
                };
                let _ = socket.send_to(&answer, from);
            });
        }
    }
}

impl AsFd for Questions {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The answer of the first resolver that has one.
fn ask_in_turn(machine: &Machine, resolvers: &[SocketAddr], question: &[u8]) -> io::Result<Vec<u8>> {
    // All of them, before the client gives up.
    let patience = PATIENCE / u32::try_from(resolvers.len().max(1)).unwrap_or(1);
    let mut outcome = Err(io::ErrorKind::ConnectionRefused.into());
    for resolver in resolvers {
        outcome = ask(machine, *resolver, patience, question);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn ask(machine: &Machine, resolver: SocketAddr, patience: Duration, question: &[u8]) -> io::Result<Vec<u8>> {
    let socket = machine.ask(resolver, patience)?;
    socket.send(question)?;
    let mut answer = vec![0; LONGEST];
    let len = socket.recv(&mut answer)?;
    answer.truncate(len);
    Ok(answer)
}

/// Says to a question that there is no resolver (RFC 1035, section 4.1.1: a server failure).
fn no_answer(mut question: Vec<u8>) -> Vec<u8> {
    if let Some([flags, code]) = question.get_mut(2..4) {
        *flags |= 0x80;
        *code = (*code & 0xf0) | 2;
    }
    question
}
