//! A socket that sends frames through a Wi-Fi device, and learns from its driver whether each was acknowledged
//! (`SO_WIFI_STATUS`, socket(7)).
//!
//! Its frames go to the driver at once, past the queueing discipline of the device and past programs at its egress
//! (`PACKET_QDISC_BYPASS`, packet(7)); mac80211 has queues of its own behind that. The kernel returns each frame as a
//! message in the error queue, with its status. A frame without a report may have been dropped before it was
//! transmitted, or its report had no room.

#![expect(unsafe_code, reason = "rustix has neither packet sockets nor error queues")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// Half of the octets of frames that may wait in the device's queues, and of reports that may wait here (socket(7)). The
/// queues of mac80211 have at most 16 MiB, and drop first from the station that has most; this bound is for all stations.
const FRAMES: libc::c_int = 32 << 20;
const REPORTS: libc::c_int = 8 << 20;
/// The length of the header before each frame, which says what the kernel is to complete (`struct virtio_net_hdr`).
pub const OFFLOAD_HEADER: usize = 10;

/// A socket for the frames of one device.
#[derive(Debug)]
pub struct WifiStatusSocket {
    socket: OwnedFd,
}

/// A frame whose status is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The octets of the frame in the buffer, from its Ethernet header on. A longer frame is cut.
    pub len: usize,
    /// Whether the receiver has acknowledged it.
    pub acknowledged: bool,
}

impl WifiStatusSocket {
    /// A socket for the device with this index. Needs `CAP_NET_RAW`.
    pub fn open(device: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the call has no pointers. Protocol 0 receives nothing.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and ours.
        let socket = Self { socket: unsafe { OwnedFd::from_raw_fd(socket) } };
        for (level, option, value) in [
            (libc::SOL_SOCKET, libc::SO_WIFI_STATUS, 1),
            (libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1),
            (libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1),
            (libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, FRAMES),
            (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, REPORTS),
        ] {
            socket.set(level, option, value)?;
        }
        socket.bind(device)?;
        Ok(socket)
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let (at, len) = (ptr::from_ref(&value).cast(), size_of_val(&value) as libc::socklen_t);
        // SAFETY: the value lives until the call returns, and has this length.
        outcome(unsafe { libc::setsockopt(self.socket.as_raw_fd(), level, option, at, len) })
    }

    fn bind(&self, device: u32) -> io::Result<()> {
        // SAFETY: the structure consists of numbers, for which zero is a value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = device.cast_signed();
        let (at, len) = (ptr::from_ref(&address).cast(), size_of_val(&address) as libc::socklen_t);
        // SAFETY: the address lives until the call returns, and has this length.
        outcome(unsafe { libc::bind(self.socket.as_raw_fd(), at, len) })
    }

    /// Sends a frame, from its Ethernet header on, after its offload header.
    ///
    /// # Errors
    /// `WouldBlock` and `ENOBUFS` if there is no room for it; those of sendmsg(2).
    pub fn send(&self, header: &[u8; OFFLOAD_HEADER], frame: &[u8]) -> io::Result<()> {
        let mut parts = [header.as_slice(), frame]
            .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
        // SAFETY: the structure consists of numbers and pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len() as _;
        // SAFETY: the parts live until the call returns, and are only read.
        let sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const message, 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// The next report, with the frame in `buffer`; `None` if there is none. Messages that are no reports are skipped.
    pub fn report(&self, buffer: &mut [u8]) -> io::Result<Option<Report>> {
        loop {
            let mut control = Control([0; 256]);
            let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            // SAFETY: the structure consists of numbers and pointers, for which zero is a value.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = control.0.len() as _;
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            // SAFETY: both buffers live until the call returns, and have these lengths.
            let len = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, flags) };
            if len < 0 {
                let error = io::Error::last_os_error();
                match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(None),
                    io::ErrorKind::Interrupted => continue,
                    _ => return Err(error),
                }
            }
            if let Some(status) = status(&message) {
                let len = usize::try_from(len).unwrap_or_default().min(buffer.len());
                return Ok(Some(Report { len, acknowledged: status != 0 }));
            }
        }
    }
}

/// Room for control messages, aligned as they are.
#[repr(C, align(8))]
struct Control([u8; 256]);

/// The status in the control messages of a message.
fn status(message: &libc::msghdr) -> Option<libc::c_int> {
    // SAFETY: the kernel has filled in the control messages of this header, whose buffer lives.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: the header is within the buffer, as CMSG_FIRSTHDR and CMSG_NXTHDR return it.
        let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_WIFI_STATUS) {
            // SAFETY: a message of this type has an int as its data.
            return Some(unsafe { libc::CMSG_DATA(header).cast::<libc::c_int>().read_unaligned() });
        }
        // SAFETY: as above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}

fn outcome(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl AsFd for WifiStatusSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
