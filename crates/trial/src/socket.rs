//! Sockets of a trial's hosts, and the meaning of their errors.

#![expect(unsafe_code, reason = "rustix has no SIOCGSTAMPNS and no SIOCOUTQ")]

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_tcp_congestion};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use lasthop_linux::namespace::Namespace;

/// Begins to open a connection from the calling thread's namespace, without waiting for the
/// handshake.
///
/// The congestion control is set before the handshake, because a later one inherits settings of the
/// kernel's default: after BBR, CUBIC and Reno would pace.
pub(super) fn open(to: SocketAddr, congestion: &str) -> io::Result<TcpStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    set_tcp_congestion(&socket, congestion)?;
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}

/// A non-blocking listening socket on a host. Port 0 stands for a free one.
pub(super) fn listen(on: &Namespace, address: SocketAddr, congestion: &str) -> io::Result<TcpListener> {
    let listener = on.enter(|| TcpListener::bind(address))??;
    // An accepted connection has the congestion control of the socket that listens.
    set_tcp_congestion(&listener, congestion)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Whether nothing could be read or written before the time-out.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Whether the other end has closed or reset the connection.
pub(super) fn is_closed_by_peer(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted)
}

/// Makes a socket reset its connection when it is closed.
pub(super) fn abort_on_close(stream: &TcpStream) {
    // On failure the connection only ends later.
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

/// Whether a UDP socket has nothing to read now, cannot accept a datagram, or reports an ICMP error
/// for an earlier datagram.
pub(super) fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted | ErrorKind::ConnectionRefused
    ) || matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EHOSTUNREACH | libc::ENETUNREACH))
}

/// Octets that were written to a connection and that its TCP has no acknowledgment of: `SIOCOUTQ` of tcp(7), which includes
/// those that it has not sent.
pub(super) fn unacknowledged(stream: &TcpStream) -> io::Result<u64> {
    let mut octets: libc::c_int = 0;
    // SAFETY: the request writes one integer.
    let result =
        unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ as _, std::ptr::from_mut(&mut octets)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(u64::try_from(octets).unwrap_or_default()) }
}

/// The time of day at which the last datagram that was read from a socket arrived; `None` if the
/// kernel has not recorded it. The kernel records arrivals after the first call (socket(7)).
pub(super) fn arrival(socket: &UdpSocket) -> Option<Duration> {
    /// `SIOCGSTAMPNS_OLD` of Linux's `asm-generic/sockios.h`.
    const SIOCGSTAMPNS_OLD: u32 = 0x8907;
    /// `struct __kernel_old_timespec`.
    #[repr(C)]
    struct Time {
        seconds: libc::c_long,
        nanos: libc::c_long,
    }
    let mut time = Time { seconds: 0, nanos: 0 };
    // SAFETY: the request writes one structure of this layout.
    let result =
        unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSTAMPNS_OLD as _, std::ptr::from_mut(&mut time)) };
    let seconds = u64::try_from(time.seconds).ok().filter(|_| result == 0)?;
    Some(Duration::new(seconds, u32::try_from(time.nanos).ok()?))
}
