//! The control device, as the guest sees it.

use std::io;
use std::net::UdpSocket;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::control::{
    self, Arrived, FromGuest, GUEST, Inbox, OUTSIDE, Output, PIECE, PORT, input_in, is_together, kind_of,
};

/// Octets of a datagram.
const DATAGRAM: usize = 1 + PIECE;

/// The process outside the guest.
#[derive(Debug)]
pub(super) struct Outside(UdpSocket);

impl Outside {
    /// The control device has its address.
    pub(super) fn open() -> io::Result<Self> {
        let control = UdpSocket::bind((GUEST, PORT))?;
        control.connect((OUTSIDE, PORT))?;
        Ok(Self(control))
    }

    /// Says something.
    pub(super) fn say<R: Serialize>(&self, message: &FromGuest<R>) -> io::Result<()> {
        for datagram in control::datagrams(message)? {
            self.0.send(&datagram)?;
        }
        Ok(())
    }

    /// Says that this guest has come so far, and waits until all guests of the run have.
    pub(super) fn say_together<R: Serialize>(&self, message: &FromGuest<R>) -> io::Result<()> {
        self.say(message)?;
        let mut datagram = [0; DATAGRAM];
        let len = self.0.recv(&mut datagram)?;
        if is_together(&datagram[..len]) { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    /// Asks for the job.
    pub(super) fn job<J: DeserializeOwned>(&self) -> io::Result<J> {
        let mut inbox = Inbox::default();
        let mut datagram = [0; DATAGRAM];
        loop {
            self.say::<()>(&FromGuest::Job)?;
            let len = self.0.recv(&mut datagram)?;
            if let Arrived::Message(job) = inbox.add(&datagram[..len]).map_err(io::Error::other)? {
                return Ok(job);
            }
        }
    }

    /// Sends what a program has printed.
    pub(super) fn print(&self, output: Output, octets: &[u8]) -> io::Result<()> {
        let mut datagram = [kind_of(output); DATAGRAM];
        for piece in octets.chunks(PIECE) {
            datagram[1..=piece.len()].copy_from_slice(piece);
            self.0.send(&datagram[..=piece.len()])?;
        }
        Ok(())
    }

    /// Asks for the next octets of standard input; there are none at its end.
    pub(super) fn input(&self) -> io::Result<Vec<u8>> {
        self.say::<()>(&FromGuest::Input)?;
        let mut datagram = [0; DATAGRAM];
        let len = self.0.recv(&mut datagram)?;
        let octets = input_in(&datagram[..len]).ok_or(io::ErrorKind::InvalidData)?;
        Ok(octets.to_vec())
    }
}
