//! This machine as seen from the client side of a hop: the services that the client can reach,
//! whether the emulator is in this machine's network or not.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use super::host_side::HostSide;
use super::in_use::InUse;
use lasthop_linux::listening::listeners;

/// The emulator's access to this machine's network.
#[derive(Debug)]
pub enum Machine {
    /// The emulator is in this machine's network. Services that listen at all addresses are also
    /// reachable at the hop's gateway address.
    Here,
    /// The emulator is in an empty network namespace.
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
            // A service that listens for both families may be on a machine without IPv6.
            Err(error) if target.ip() == Ipv6Addr::LOCALHOST && is_lack_of_ipv6(&error) => {
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

    /// The addresses in use on this machine that the emulator does not see itself.
    pub(super) fn in_use(&self) -> &InUse {
        static NOTHING: InUse = InUse::NOTHING;
        match self {
            Self::Here => &NOTHING,
            Self::HostSide(host_side) => host_side.in_use(),
        }
    }

    /// Whether this machine's network cannot be reached any more.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::HostSide(host_side) if host_side.has_ended())
    }

    /// Returns a UDP socket connected to `target`, with a timeout for reads.
    pub(super) fn query_socket(&self, target: SocketAddr, timeout: Duration) -> io::Result<UdpSocket> {
        let socket = UdpSocket::from(self.socket(family_of(target), SocketType::DGRAM)?);
        socket.connect(target)?;
        socket.set_read_timeout(Some(timeout))?;
        Ok(socket)
    }

    /// Returns a UDP socket connected to `target`, bound to a port that other such sockets may
    /// share, or to any free port if `port` is 0 or not available.
    pub(super) fn datagram_socket(&self, target: SocketAddr, port: u16) -> io::Result<UdpSocket> {
        let socket = UdpSocket::from(self.socket(family_of(target), SocketType::DGRAM)?);
        // Only sockets of the same user can share the port.
        set_socket_reuseport(&socket, true)?;
        let any: IpAddr =
            if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        bind(&socket, &SocketAddr::new(any, port)).or_else(|_| bind(&socket, &SocketAddr::new(any, 0)))?;
        socket.connect(target)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    /// The address of the UDP service at a port of the hop's gateway, with `localhost` also of one
    /// on the loopback device. `None` without one, or if the emulator is in this machine's network.
    pub(super) fn datagram_service(&self, port: u16, localhost: bool) -> io::Result<Option<SocketAddr>> {
        let Self::HostSide(host_side) = self else { return Ok(None) };
        let reached_at = |address: SocketAddr| match address.ip() {
            _ if address.port() != port => None,
            // A service that listens for both families also accepts IPv4.
            ip if ip.is_unspecified() => Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)),
            ip if ip.is_loopback() => localhost.then_some(address),
            _ => None,
        };
        Ok(host_side.unconnected()?.into_iter().find_map(|socket| reached_at(socket.address)))
    }

    /// The TCP services that need a relay at the hop's gateway: with `localhost` those on the
    /// loopback device, and those at all addresses if the emulator is not in this machine's
    /// network.
    pub(super) fn services(&self, localhost: bool) -> io::Result<Vec<SocketAddr>> {
        let listeners = match self {
            Self::Here => listeners(),
            Self::HostSide(host_side) => host_side.listeners(),
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
            Self::HostSide(host_side) => host_side.socket(family, kind),
        }
    }
}

fn is_lack_of_ipv6(error: &io::Error) -> bool {
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
