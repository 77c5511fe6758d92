//! The process at the other end of a Unix socket.
#![expect(
    unsafe_code,
    reason = "rustix's type for a peer has no room for a process of another pid namespace"
)]

use std::fmt;
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, AsRawFd};

use lasthop_config::words::printable;

/// A process that connected, or that listened when another process connected to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The process ID; `None` if it is not visible from here.
    pub pid: Option<NonZeroU32>,
    /// The effective user ID.
    pub uid: u32,
}

impl Peer {
    /// The process at the other end of a connected socket.
    pub fn from_socket(socket: impl AsFd) -> io::Result<Self> {
        let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut len = size_of_val(&peer) as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` octets into `peer`, of which any are a value.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut peer).cast(),
                &raw mut len,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { pid: NonZeroU32::new(peer.pid.cast_unsigned()), uid: peer.uid })
    }
}

/// For example `process 1234 (lasthop)`.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => f.write_str(&shown(pid)),
            None => f.write_str("a process of another container"),
        }
    }
}

/// A process ID and name for messages.
pub fn shown(pid: NonZeroU32) -> String {
    // A process chooses its name, and may choose any octets.
    match fs::read(format!("/proc/{pid}/comm")) {
        Ok(name) => {
            let name = String::from_utf8_lossy(&name);
            format!("process {pid} ({})", printable(name.strip_suffix('\n').unwrap_or(&name)))
        }
        Err(_) => format!("process {pid}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_name_of_a_process_is_shown_without_control_characters() {
        std::thread::spawn(|| {
            let pid = NonZeroU32::new(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned());
            let pid = pid.expect("it is not 0");
            fs::write("/proc/thread-self/comm", b"a\x1b[2J\nb\xff").expect("it is ours");
            assert_eq!(shown(pid), format!("process {pid} (a\\u001b[2J\\u000ab\u{fffd})"));
        })
        .join()
        .expect("no panic");
    }

    #[test]
    fn the_peer_of_our_own_socket_is_this_process() {
        let (one, _other) = UnixStream::pair().expect("sockets");
        let peer = Peer::from_socket(&one).expect("it is connected");
        assert_eq!(peer.pid.map(NonZeroU32::get), Some(std::process::id()));
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        assert!(peer.to_string().starts_with(&format!("process {} (", std::process::id())), "{peer}");
    }
}
