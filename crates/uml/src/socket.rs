//! Streams from a guest: octets as they are there, with the descriptors that come with them.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, send, sendmsg,
};

/// A stream, with what has come and was not yet taken.
#[derive(Debug)]
pub struct Stream {
    socket: OwnedFd,
    octets: Box<[u8]>,
    filled: usize,
    files: VecDeque<OwnedFd>,
}

/// Descriptors that may wait.
const MAX_FILES: usize = 8;

impl Stream {
    /// A stream whose longest message has this number of octets.
    pub fn new(socket: OwnedFd, longest: usize) -> Self {
        Self { socket, octets: vec![0; longest].into(), filled: 0, files: VecDeque::new() }
    }

    /// Receives what is there; returns whether that was the stream's end. The caller knows that it does not block.
    pub fn receive(&mut self) -> io::Result<bool> {
        let space = &mut self.octets[self.filled..];
        if space.is_empty() {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut control = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
        let mut control = RecvAncillaryBuffer::new(&mut control);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = match recvmsg(&self.socket, &mut [IoSliceMut::new(space)], &mut control, flags) {
            // A guest that died with answers unread.
            Err(rustix::io::Errno::CONNRESET) => return Ok(true),
            other => other?.bytes,
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                self.files.extend(files);
            }
        }
        if self.files.len() > MAX_FILES {
            return Err(ErrorKind::InvalidData.into());
        }
        self.filled += received;
        Ok(received == 0)
    }

    /// What has come and was not taken.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..self.filled]
    }

    /// Takes octets off the front.
    pub fn take(&mut self, octets: usize) {
        self.octets.copy_within(octets..self.filled, 0);
        self.filled -= octets;
    }

    /// Takes descriptors; `None` if fewer have come.
    pub fn take_files(&mut self, number: usize) -> Option<Vec<OwnedFd>> {
        (number <= self.files.len()).then(|| self.files.drain(..number).collect())
    }

    /// Whether descriptors have come that were not taken.
    pub fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Sends octets. A guest that does not read its answers gets an error.
    pub fn send(&self, octets: &[u8]) -> io::Result<()> {
        let sent = send(&self.socket, octets, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        if sent == octets.len() { Ok(()) } else { Err(ErrorKind::WriteZero.into()) }
    }

    /// Sends octets with descriptors.
    pub fn send_with(&self, octets: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut control = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
        let mut control = SendAncillaryBuffer::new(&mut control);
        control.push(SendAncillaryMessage::ScmRights(files));
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let sent = sendmsg(&self.socket, &[io::IoSlice::new(octets)], &mut control, flags)?;
        if sent == octets.len() { Ok(()) } else { Err(ErrorKind::WriteZero.into()) }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
