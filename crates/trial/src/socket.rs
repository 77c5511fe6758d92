//! Sockets of a trial's hosts, and what their errors mean.

#![expect(unsafe_code, reason = "rustix does not ask a socket when a datagram came")]

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_tcp_congestion};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use lasthop_linux::namespace::Namespace;

/// Begins to open a connection from the calling thread's namespace; it does not wait for it. A lost
/// SYN is the kernel's to send again.
///
/// It has its congestion control before it is there: one that replaces another later inherits what
/// the other has set. After BBR, where that is the kernel's default, CUBIC and Reno would pace.
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

/// A socket that listens on a host, and does not wait. Port 0 is one that is free there.
pub(super) fn listen(
    on: &Namespace,
    address: IpAddr,
    port: u16,
    congestion: &str,
) -> io::Result<TcpListener> {
    let listener = on.enter(|| TcpListener::bind((address, port)))??;
    // An accepted connection has the congestion control of the socket that listens.
    set_tcp_congestion(&listener, congestion)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Nothing was to be had in time.
pub(super) fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The other end has gone; what counts is what it got.
pub(super) fn is_hang_up(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted)
}

/// Has a socket reset its connection when it is closed, so that nothing lingers.
pub(super) fn abort_on_close(stream: &TcpStream) {
    // It only hastens the end.
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

/// Nothing to be had from a UDP socket now, or an ICMP error that came back for an earlier datagram.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted | ErrorKind::ConnectionRefused
    ) || matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EHOSTUNREACH | libc::ENETUNREACH))
}

/// When the datagram came in that was read last from a socket, by the time of day; `None` if the kernel
/// did not note it. It does so from the first question on (socket(7)).
pub(super) fn arrival(socket: &UdpSocket) -> Option<Duration> {
    /// `SIOCGSTAMPNS_OLD` of Linux's `asm-generic/sockios.h`.
    const ASK: u32 = 0x8907;
    /// `struct __kernel_old_timespec`.
    #[repr(C)]
    struct Time {
        seconds: libc::c_long,
        nanos: libc::c_long,
    }
    let mut time = Time { seconds: 0, nanos: 0 };
    // SAFETY: the request writes one structure of this layout.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), ASK as _, std::ptr::from_mut(&mut time)) };
    let seconds = u64::try_from(time.seconds).ok().filter(|_| result == 0)?;
    Some(Duration::new(seconds, u32::try_from(time.nanos).ok()?))
}
