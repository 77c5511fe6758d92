//! This machine as seen from behind a hop: the services that are reached there, wherever the
//! emulator itself is.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use super::host_side::HostSide;
use super::in_use::InUse;
use lasthop_linux::listening::listeners;

/// Where the network of this machine is.
#[derive(Debug)]
pub enum Machine {
    /// The emulator is in it. What listens at all addresses is reached at the hop's gateway, too.
    Here,
    /// The emulator is in an empty network namespace of its own.
    HostSide(HostSide),
}

impl Machine {
    /// Whether the emulator is in this machine's network.
    pub const fn is_here(&self) -> bool {
        matches!(self, Self::Here)
    }

    /// Connects to a service.
    pub(super) fn connect(&self, target: SocketAddr) -> io::Result<TcpStream> {
        match self.connect_to(target) {
            // A machine without IPv6 may have services that listen for both.
            Err(error) if target.ip() == Ipv6Addr::LOCALHOST && is_for_want_of_ipv6(&error) => {
                self.connect_to(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), target.port()))
            }
            connected => connected,
        }
    }

    fn connect_to(&self, target: SocketAddr) -> io::Result<TcpStream> {
        let socket = self.socket(family_of(target), SocketType::STREAM)?;
        connect(&socket, &target)?;
        Ok(socket.into())
    }

    /// The addresses in use there, where the emulator does not see them itself.
    pub(super) fn in_use(&self) -> &InUse {
        static NOTHING: InUse = InUse::NOTHING;
        match self {
            Self::Here => &NOTHING,
            Self::HostSide(outside) => outside.in_use(),
        }
    }

    /// Whether it cannot be reached any more.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::HostSide(outside) if outside.has_ended())
    }

    /// A socket that sends to `target` and hears from it alone, for at most `patience`.
    pub(super) fn ask(&self, target: SocketAddr, patience: Duration) -> io::Result<UdpSocket> {
        let socket = UdpSocket::from(self.socket(family_of(target), SocketType::DGRAM)?);
        socket.connect(target)?;
        socket.set_read_timeout(Some(patience))?;
        Ok(socket)
    }

    /// A socket that sends to `target` and hears from it alone, from a port of this machine's network that
    /// others of its kind may have, too; from any free one if that is 0 or not to be had.
    pub(super) fn datagram_socket(&self, target: SocketAddr, port: u16) -> io::Result<UdpSocket> {
        let socket = UdpSocket::from(self.socket(family_of(target), SocketType::DGRAM)?);
        // Those of this user alone: others cannot take part.
        set_socket_reuseport(&socket, true)?;
        let any: IpAddr =
            if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        bind(&socket, &SocketAddr::new(any, port)).or_else(|_| bind(&socket, &SocketAddr::new(any, 0)))?;
        socket.connect(target)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    /// The UDP service at a port that is reached at the hop's gateway, with `localhost` also one on the
    /// loopback device; where the emulator is elsewhere. `None` without one.
    pub(super) fn datagram_service(&self, port: u16, localhost: bool) -> io::Result<Option<SocketAddr>> {
        let Self::HostSide(outside) = self else { return Ok(None) };
        let reached_at = |address: SocketAddr| match address.ip() {
            _ if address.port() != port => None,
            // One that listens for both families takes IPv4, too.
            ip if ip.is_unspecified() => Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)),
            ip if ip.is_loopback() => localhost.then_some(address),
            _ => None,
        };
        Ok(outside.unconnected()?.into_iter().find_map(|socket| reached_at(socket.address)))
    }

    /// The TCP services that are not reached at the hop's gateway without help: those on the
    /// loopback device if they are wanted, and all others if the emulator is elsewhere.
    pub(super) fn services(&self, localhost: bool) -> io::Result<Vec<SocketAddr>> {
        let listeners = match self {
            Self::Here => listeners(),
            Self::HostSide(outside) => outside.listeners(),
        };
        let reached_at = |address: SocketAddr| match address.ip() {
            ip if ip.is_loopback() => localhost.then_some(address),
            ip if ip.is_unspecified() && !self.is_here() => {
                Some(SocketAddr::new(loopback_of(ip), address.port()))
            }
            _ => None,
        };
        Ok(listeners?.into_iter().filter_map(|listener| reached_at(listener.address)).collect())
    }

    fn socket(&self, family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
        match self {
            Self::Here => Ok(socket_with(family, kind, SocketFlags::CLOEXEC, None)?),
            Self::HostSide(outside) => outside.socket(family, kind),
        }
    }
}

fn is_for_want_of_ipv6(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::Unsupported
    ) || error.raw_os_error() == Some(libc::EAFNOSUPPORT)
}

const fn family_of(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

fn loopback_of(ip: IpAddr) -> IpAddr {
    if ip.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn services_on_the_loopback_device_are_found_on_request_and_others_are_not() {
        let (v4, v6) = ("127.0.0.1:0", "[::1]:0");
        let [private, all] =
            [v4, "0.0.0.0:0"].map(|address| TcpListener::bind(address).expect("a free port"));
        let address = |listener: &TcpListener| listener.local_addr().expect("it is bound");
        let found = || Machine::Here.services(true).expect("Linux has them");
        assert!(found().contains(&address(&private)), "{:?}", found());
        assert!(found().iter().all(|found| found.port() != address(&all).port()), "{:?}", found());
        assert_eq!(Machine::Here.services(false).expect("Linux has them"), []);
        if let Ok(private) = TcpListener::bind(v6) {
            assert!(found().contains(&address(&private)));
        }
    }
}
