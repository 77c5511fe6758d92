//! Requests about interfaces for which rustix has no functions yet.
#![expect(unsafe_code, reason = "ioctl(2) with struct ifreq, whose union rustix does not know")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use libc::{c_int, c_short, c_ulong, c_void};

/// A request about one interface.
pub(super) struct Request(libc::ifreq);

/// Interface flags from `if.h`.
const UP: c_short = libc::IFF_UP as c_short;
const NO_ARP: c_short = libc::IFF_NOARP as c_short;

impl Request {
    /// A request about the interface of this name.
    pub(super) fn about(name: &str) -> io::Result<Self> {
        // SAFETY: a C structure of integers and a union of such; all zeros is a value of it.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains(['/', '\0']) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "an interface's name has 1 to 15 octets",
            ));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from.cast_signed() as libc::c_char;
        }
        Ok(Self(request))
    }

    /// Makes an open `/dev/net/tun` the device of this name; returns the actual name.
    pub(super) fn make_tun(mut self, tun: BorrowedFd<'_>, flags: c_int) -> io::Result<String> {
        self.0.ifr_ifru.ifru_flags = flags as c_short;
        self.call(tun, libc::TUNSETIFF as c_ulong)?;
        let octets: Vec<u8> =
            self.0.ifr_name.iter().map(|&c| c as u8).take_while(|&octet| octet != 0).collect();
        String::from_utf8(octets).map_err(io::Error::other)
    }

    pub(super) fn hardware_address(mut self, device: BorrowedFd<'_>) -> io::Result<[u8; 6]> {
        self.call(device, libc::SIOCGIFHWADDR as c_ulong)?;
        // SAFETY: the kernel has filled in this member of the union; any octets are a value of it.
        let address = unsafe { self.0.ifr_ifru.ifru_hwaddr }.sa_data;
        Ok(std::array::from_fn(|at| address[at] as u8))
    }

    pub(super) fn hardware_type(mut self, socket: BorrowedFd<'_>) -> io::Result<u16> {
        self.call(socket, libc::SIOCGIFHWADDR as c_ulong)?;
        // SAFETY: the kernel has filled in this member of the union; any octets are a value of it.
        Ok(unsafe { self.0.ifr_ifru.ifru_hwaddr }.sa_family)
    }

    pub(super) fn mtu(mut self, socket: BorrowedFd<'_>) -> io::Result<u32> {
        self.call(socket, libc::SIOCGIFMTU as c_ulong)?;
        // SAFETY: as above.
        Ok(unsafe { self.0.ifr_ifru.ifru_mtu }.cast_unsigned())
    }

    pub(super) fn set_mtu(mut self, socket: BorrowedFd<'_>, octets: u32) -> io::Result<()> {
        self.0.ifr_ifru.ifru_mtu = octets.cast_signed();
        self.call(socket, libc::SIOCSIFMTU as c_ulong)
    }

    pub(super) fn set_queue_length(mut self, socket: BorrowedFd<'_>, frames: u32) -> io::Result<()> {
        // The kernel calls this member ifr_qlen; it is an int like this one.
        self.0.ifr_ifru.ifru_metric = frames.cast_signed();
        self.call(socket, libc::SIOCSIFTXQLEN as c_ulong)
    }

    pub(super) fn read_up(mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        self.call(socket, libc::SIOCGIFFLAGS as c_ulong)?;
        // SAFETY: as above.
        Ok(unsafe { self.0.ifr_ifru.ifru_flags } & UP != 0)
    }

    /// Sends a command of ethtool to the interface's driver, which writes its answer into the
    /// command. The command has as much room as its own counts state.
    pub(super) fn ethtool(mut self, socket: BorrowedFd<'_>, command: &mut [u8]) -> io::Result<()> {
        self.0.ifr_ifru.ifru_data = command.as_mut_ptr().cast();
        self.call(socket, libc::SIOCETHTOOL as c_ulong)
    }

    pub(super) fn bring_up(mut self, socket: BorrowedFd<'_>, arp: bool) -> io::Result<()> {
        self.call(socket, libc::SIOCGIFFLAGS as c_ulong)?;
        // SAFETY: as above.
        let flags = unsafe { self.0.ifr_ifru.ifru_flags };
        self.0.ifr_ifru.ifru_flags = if arp { (flags | UP) & !NO_ARP } else { flags | UP | NO_ARP };
        self.call(socket, libc::SIOCSIFFLAGS as c_ulong)
    }

    fn call(&mut self, fd: BorrowedFd<'_>, request: c_ulong) -> io::Result<()> {
        // SAFETY: each request used here reads and writes one complete `struct ifreq` and nothing
        // else, except for SIOCETHTOOL, whose command is borrowed for the call and has the stated
        // size.
        let result = unsafe {
            libc::ioctl(fd.as_raw_fd(), request as _, std::ptr::from_mut(&mut self.0).cast::<c_void>())
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Sets the offloads that the reader of a TUN or TAP device supports (`TUN_F_*`).
pub(super) fn set_offload(tun: impl AsFd, features: u32) -> io::Result<()> {
    // SAFETY: the request takes its argument by value.
    let result =
        unsafe { libc::ioctl(tun.as_fd().as_raw_fd(), libc::TUNSETOFFLOAD as _, c_ulong::from(features)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the length of the header before each frame.
pub(super) fn set_header_len(tun: impl AsFd, octets: u8) -> io::Result<()> {
    let octets = c_int::from(octets);
    // SAFETY: the request reads one int.
    let result = unsafe {
        libc::ioctl(tun.as_fd().as_raw_fd(), libc::TUNSETVNETHDRSZ as _, std::ptr::from_ref(&octets))
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
