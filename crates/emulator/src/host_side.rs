//! A process that stays in this machine's network namespace while the emulator moves to an empty
//! one. It creates sockets for the emulator: a socket belongs to the namespace in which it was
//! created, whichever process uses it.
//!
//! A request is two octets: the address family and the type of the socket. The answer is an error
//! number, or 0 and the socket. The process ends when the other end of its socket is closed.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, sendmsg, socket_with,
    socketpair,
};

use super::in_use::InUse;
use lasthop_linux::listening::{Listener, listeners_of, unconnected_of};

/// The process; it runs during the lifetime of this value.
#[derive(Debug)]
pub struct HostSide {
    process: Mutex<Child>,
    /// The process ID, which the kernel does not reuse before `wait`.
    pid: u32,
    in_use: InUse,
    /// The socket for requests, one at a time; `None` at the end.
    requests: Mutex<Option<OwnedFd>>,
}

impl HostSide {
    /// Starts the process in the network namespace of the current one. `program` is a command that
    /// calls [`serve`] with its standard input.
    pub fn start(mut program: Command) -> io::Result<Self> {
        let (ours, its) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // Signals from the terminal are for the emulation only.
        program.process_group(0).stdin(its).stdout(Stdio::null()).stderr(Stdio::null());
        // Without this list, the hop may get a subnet that is in use here, and hide it. It is read
        // without a thread: the emulation is about to enter a user namespace, which a process with
        // threads cannot do, even if they are just ending.
        let in_use = InUse::here().unwrap_or_default();
        let process = program.spawn()?;
        let pid = process.id();
        Ok(Self { process: Mutex::new(process), pid, in_use, requests: Mutex::new(Some(ours)) })
    }

    /// Returns a new socket of IPv4 or IPv6, for TCP or UDP.
    pub(super) fn socket(&self, family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(requests) = requests.as_ref() else { return Err(io::ErrorKind::NotConnected.into()) };
        // The numbers of both are below 256.
        let request = [family.as_raw() as u8, kind.as_raw() as u8];
        rustix::net::send(requests, &request, SendFlags::NOSIGNAL)?;
        let mut number = [0; 4];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received =
            recvmsg(requests, &mut [IoSliceMut::new(&mut number)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        if received.bytes != number.len() {
            return Err(io::Error::other("the process that stayed outside has ended"));
        }
        let socket = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        socket.ok_or_else(|| io::Error::from_raw_os_error(i32::from_ne_bytes(number)))
    }

    /// The addresses in use on this machine at the start.
    pub(super) const fn in_use(&self) -> &InUse {
        &self.in_use
    }

    /// The listening TCP sockets of this machine.
    pub(super) fn listeners(&self) -> io::Result<Vec<Listener>> {
        listeners_of(&self.pid.to_string())
    }

    /// The unconnected UDP sockets of this machine.
    pub(super) fn unconnected(&self) -> io::Result<Vec<Listener>> {
        unconnected_of(&self.pid.to_string())
    }

    /// Whether the process has ended.
    pub(super) fn has_ended(&self) -> bool {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for HostSide {
    fn drop(&mut self) {
        drop(self.requests.lock().unwrap_or_else(PoisonError::into_inner).take());
        let _ = self.process.get_mut().unwrap_or_else(PoisonError::into_inner).wait();
    }
}

/// The main loop of the process: creates sockets until the other end of `requests` is closed.
pub fn serve(requests: impl AsFd) -> io::Result<()> {
    // The process does not keep the emulation's directory busy.
    std::env::set_current_dir("/")?;
    loop {
        let mut request = [0; 2];
        match recv(&requests, &mut request, RecvFlags::empty()) {
            Ok((_, 0)) => return Ok(()),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let made = make(request);
        let number = made.as_ref().err().map_or(0, |error| error.raw_os_error());
        let files = made.as_ref().map(AsFd::as_fd).into_iter().collect::<Vec<_>>();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&files));
        }
        sendmsg(&requests, &[IoSlice::new(&number.to_ne_bytes())], &mut control, SendFlags::NOSIGNAL)?;
    }
}

fn make([family, kind]: [u8; 2]) -> Result<OwnedFd, Errno> {
    let family =
        [AddressFamily::INET, AddressFamily::INET6].into_iter().find(|one| one.as_raw() as u8 == family);
    let kind = [SocketType::STREAM, SocketType::DGRAM].into_iter().find(|one| one.as_raw() as u8 == kind);
    let (Some(family), Some(kind)) = (family, kind) else { return Err(Errno::INVAL) };
    socket_with(family, kind, SocketFlags::CLOEXEC, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tcp_and_udp_sockets_are_created() {
        for (family, kind) in [(libc::AF_INET, libc::SOCK_STREAM), (libc::AF_INET, libc::SOCK_DGRAM)] {
            make([family as u8, kind as u8]).expect("any process may have one");
        }
        for (family, kind) in [(libc::AF_UNIX, libc::SOCK_STREAM), (libc::AF_INET, libc::SOCK_RAW), (0, 0)] {
            assert_eq!(make([family as u8, kind as u8]).expect_err("refused"), Errno::INVAL);
        }
    }
}
