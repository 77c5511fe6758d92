//! Socket options and statistics that only Linux has.
#![allow(unsafe_code, reason = "neither the standard library nor rustix has these options")]

use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// A stage of transmission that an octet has passed, and the octet's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// `SCM_TSTAMP_SND` (0): given to the network card; `SCM_TSTAMP_SCHED` (1): given to a queueing
    /// discipline.
    pub stage: u32,
    pub octet: u32,
}

fn set<T>(socket: &TcpStream, option: libc::c_int, value: &T) {
    let (value, len) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: a value of the kind and length that the option has.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, len) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Limits the pacing rate of a socket, in octets per second.
pub fn limit_pace(socket: &TcpStream, rate: u32) {
    set(socket, libc::SO_MAX_PACING_RATE, &rate);
}

/// Has the last octet of each write stamped.
pub fn stamp_what_is_sent(socket: &TcpStream) {
    let flags = libc::SOF_TIMESTAMPING_TX_SCHED
        | libc::SOF_TIMESTAMPING_TX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    set(socket, libc::SO_TIMESTAMPING, &flags);
}

/// The stamps since the last call.
pub fn stamps(socket: &TcpStream) -> Vec<Stamp> {
    std::iter::from_fn(|| stamp(socket)).collect()
}

fn stamp(socket: &TcpStream) -> Option<Stamp> {
    let mut control = [0_u64; 64];
    // SAFETY: all zeros is an empty message header.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the header describes memory that lives as long as the call.
    if unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) } < 0 {
        return None;
    }
    // SAFETY: the kernel has filled in a chain of control messages.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(&raw const message);
        while !at.is_null() {
            let of = ((*at).cmsg_level, (*at).cmsg_type);
            if of == (libc::SOL_IP, libc::IP_RECVERR) || of == (libc::SOL_IPV6, libc::IPV6_RECVERR) {
                let error: libc::sock_extended_err =
                    libc::CMSG_DATA(at).cast::<libc::sock_extended_err>().read_unaligned();
                return Some(Stamp { stage: error.ee_info, octet: error.ee_data });
            }
            at = libc::CMSG_NXTHDR(&raw const message, at);
        }
    }
    None
}

/// The memory of sent packets that are not released yet, in octets: `SK_MEMINFO_WMEM_ALLOC`.
pub fn charged(socket: &TcpStream) -> u32 {
    const SO_MEMINFO: libc::c_int = 55;
    let mut info = [0_u32; 9];
    let mut len = size_of_val(&info) as libc::socklen_t;
    // SAFETY: memory of this length, which the kernel fills.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            info.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    info[2]
}
