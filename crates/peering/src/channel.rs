//! Messages between two access points that know each other.
//!
//! A channel has two ends that may be in different threads: a [`Sender`], which may also be shared, and a
//! [`Receiver`]. What is in one direction waits for nothing in the other.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portable_atomic::AtomicU64;
use rustix::net::sockopt::set_tcp_user_timeout;
use rustls::{CertificateError, Connection};

use super::error::Error;
use super::fingerprint::Fingerprint;
use super::framing::{Decoder, head};
use super::gate::Permit;
use super::settings::Settings;
use super::tls::peer_key;
use super::transport::{Deadline, read, write_all};

/// The most octets that are encrypted at a time: less than a record of TLS (RFC 8446, section 5.1).
const PIECE: usize = 16 << 10;

/// A channel to another access point: both ends have shown their keys, and what is sent is encrypted.
#[derive(Debug)]
pub struct Channel {
    sender: Sender,
    receiver: Receiver,
}

/// Sends messages over a channel. The channel is closed when all its senders and its receiver are dropped.
#[derive(Clone, Debug)]
pub struct Sender(Arc<Shared>);

/// Receives messages from a channel.
#[derive(Debug)]
pub struct Receiver {
    shared: Arc<Shared>,
    decoder: Decoder,
    /// Until when the message that has begun must be complete.
    complete_by: Option<Deadline>,
    /// What came from the socket.
    octets: Box<[u8]>,
    /// Which of `octets` have not been decrypted yet.
    encrypted: Range<usize>,
    /// Octets that came from the socket.
    arrived: Arc<AtomicU64>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    stream: TcpStream,
    tls: Mutex<Connection>,
    /// Locked before `tls`, and held until what was encrypted is written: records keep their order. Nothing waits
    /// for the network while `tls` is locked.
    out: Mutex<Out>,
    limit: u32,
    message_time: Duration,
    peer: Fingerprint,
    peer_name: Option<Arc<str>>,
    service: Box<str>,
    _permit: Option<Permit<Fingerprint>>,
}

#[derive(Debug, Default)]
struct Out {
    /// A record was not completely written, so that the peer understands nothing after it.
    failed: bool,
    plain: Vec<u8>,
    encrypted: Vec<u8>,
}

impl Channel {
    /// Shakes hands over a connection.
    pub(crate) fn open(
        stream: TcpStream,
        mut tls: Connection,
        settings: &Settings,
        deadline: Deadline,
    ) -> Result<Self, Error> {
        stream.set_nodelay(true)?;
        // A peer that has lost its power acknowledges nothing.
        let longest = settings.message_time.as_millis().min(i32::MAX as u128) as u32;
        set_tcp_user_timeout(&stream, longest).map_err(io::Error::from)?;
        shake_hands(&stream, &mut tls, deadline)?;
        let peer = peer_key(&tls).ok_or(Error::UnknownKey)?;
        let service = tls.alpn_protocol().and_then(|service| str::from_utf8(service).ok());
        let shared = Shared {
            service: service.ok_or(Error::Tls(rustls::Error::NoApplicationProtocol))?.into(),
            stream,
            tls: Mutex::new(tls),
            out: Mutex::default(),
            limit: settings.message_octets,
            message_time: settings.message_time,
            peer,
            peer_name: None,
            _permit: None,
        };
        Ok(Self::new(shared))
    }

    fn new(shared: Shared) -> Self {
        let (decoder, shared) = (Decoder::new(shared.limit), Arc::new(shared));
        let octets = vec![0; PIECE].into();
        let receiver = Receiver {
            shared: Arc::clone(&shared),
            decoder,
            complete_by: None,
            octets,
            encrypted: 0..0,
            arrived: Arc::default(),
        };
        Self { sender: Sender(shared), receiver }
    }

    /// The same channel, of a peer that is known.
    pub(crate) fn of(self, name: Arc<str>, permit: Permit<Fingerprint>, settings: &Settings) -> Option<Self> {
        let Self { sender, receiver } = self;
        // Nothing was received, so the receiver has no state yet.
        drop(receiver);
        let shared = Arc::into_inner(sender.0)?;
        Some(Self::new(Shared {
            peer_name: Some(name),
            _permit: Some(permit),
            limit: settings.message_octets,
            message_time: settings.message_time,
            ..shared
        }))
    }

    /// The key of the peer.
    pub fn peer(&self) -> Fingerprint {
        self.sender.0.peer
    }

    /// The name for which a [`Listener`](super::Listener) knows the key of the peer; none at the other end.
    pub fn peer_name(&self) -> Option<&Arc<str>> {
        self.sender.0.peer_name.as_ref()
    }

    /// The service for which the channel was opened.
    pub fn service(&self) -> &str {
        &self.sender.0.service
    }

    /// [`Sender::send`].
    pub fn send(&self, message: &[u8]) -> Result<(), Error> {
        self.sender.send(message)
    }

    /// [`Receiver::receive`].
    pub fn receive(&mut self, wait: Duration) -> Result<Option<Vec<u8>>, Error> {
        self.receiver.receive(wait)
    }

    /// [`Sender::close`].
    pub fn close(&self) {
        self.sender.close();
    }

    /// Another sender to the same peer.
    pub fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// The two ends.
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }

    /// Octets that only this connection has, for a purpose (RFC 8446, section 7.5).
    pub(crate) fn export(&self, label: &[u8]) -> Result<[u8; 32], Error> {
        self.sender.0.tls().export_keying_material([0; 32], label, None).map_err(Error::Tls)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.sender.0
    }
}

impl Sender {
    /// Sends a message. Returns once the system has it; the peer may not have received it. Waits while the peer
    /// reads nothing.
    ///
    /// # Errors
    /// If the message is too long ([`Error::Message`]), nothing is sent, and the channel can still be used. After all
    /// others, it cannot: [`Error::TimedOut`] if the message is not sent within
    /// [`Settings::message_time`].
    pub fn send(&self, message: &[u8]) -> Result<(), Error> {
        let head = head(message.len(), self.0.limit)?;
        self.0.write(|out| {
            let first = message.len().min(PIECE - head.len());
            out.push_record(&self.0, &[&head, &message[..first]])?;
            message[first..].chunks(PIECE).try_for_each(|piece| out.push_record(&self.0, &[piece]))
        })
    }

    /// Closes the channel, also for calls of other threads that are waiting.
    pub fn close(&self) {
        self.0.close();
    }
}

impl Receiver {
    /// The next message; none if there is no complete one after this time. What has arrived of it is kept for the next
    /// call.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if a message that has begun is not complete within
    /// [`Settings::message_time`]. After an error, the channel cannot be used.
    pub fn receive(&mut self, wait: Duration) -> Result<Option<Vec<u8>>, Error> {
        let deadline = Deadline::after(wait);
        // Nothing more was there when the socket was read last; none before that.
        let mut is_drained = None;
        loop {
            if let Some(message) = self.decode()? {
                return Ok(Some(message));
            }
            if !self.encrypted.is_empty() {
                self.decrypt()?;
                continue;
            }
            // What is there counts, however late this is called.
            if is_drained == Some(true) && self.complete_by.is_some_and(Deadline::is_over) {
                return Err(Error::TimedOut);
            }
            if is_drained.is_some() && deadline.is_over() {
                return Ok(None);
            }
            let octets =
                read(&self.shared.stream, &mut self.octets, deadline.earlier(self.complete_by).left())?;
            is_drained = Some(octets.is_none_or(|octets| octets < self.octets.len()));
            match octets {
                None => {}
                Some(0) => return Err(self.end()),
                Some(octets) => {
                    self.arrived.fetch_add(octets as u64, Relaxed);
                    self.encrypted = 0..octets;
                }
            }
        }
    }

    /// From now on, what arrives is also added to `octets`, encrypted as it is: so others see that a message is on
    /// the way before it is complete.
    pub fn count_into(&mut self, octets: Arc<AtomicU64>) {
        self.arrived = octets;
    }

    /// The next message, of what has been decrypted.
    fn decode(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut tls = self.shared.tls();
        loop {
            let octets = match tls.reader().read(self.decoder.space()) {
                Ok(0) => return Err(self.end()),
                Ok(octets) => octets,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(self.end()),
                Err(error) => return Err(error.into()),
            };
            if let Some(message) = self.decoder.advance(octets)? {
                self.complete_by = None;
                return Ok(Some(message));
            }
        }
        if self.decoder.has_begun() && self.complete_by.is_none() {
            self.complete_by = Some(Deadline::after(self.shared.message_time));
        }
        Ok(None)
    }

    /// Why nothing more comes.
    fn end(&self) -> Error {
        if self.decoder.has_begun() { Error::Incomplete } else { Error::Closed }
    }

    /// Hands octets to TLS: as many as it takes before the decoder takes what they decrypt to.
    fn decrypt(&mut self) -> Result<(), Error> {
        let mut tls = self.shared.tls();
        let mut octets = &self.octets[self.encrypted.clone()];
        let fed = feed(&mut tls, &mut octets);
        let has_answer = tls.wants_write();
        drop(tls);
        self.encrypted.start = self.encrypted.end - octets.len();
        if has_answer {
            self.shared.answer();
        }
        fed
    }
}

impl Shared {
    /// Sends what `fill` pushes, and what TLS has to say by itself.
    fn write(&self, fill: impl FnOnce(&mut Pushing<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if out.failed {
            return Err(Error::Closed);
        }
        out.failed = true;
        let mut pushing = Pushing { out: &mut out, deadline: Deadline::after(self.message_time) };
        pushing.flush(self)?;
        fill(&mut pushing)?;
        out.failed = false;
        Ok(())
    }

    /// Sends what TLS has to say by itself: an alert, or a new key that the peer asked for. Where a thread is
    /// sending, its next record takes it along: a receiver must not wait for a sender, whose peer may do the same.
    fn answer(&self) {
        if let Ok(mut out) = self.out.try_lock()
            && !out.failed
        {
            let mut pushing = Pushing { out: &mut out, deadline: Deadline::after(self.message_time) };
            out.failed = pushing.flush(self).is_err();
        }
    }

    fn tls(&self) -> MutexGuard<'_, Connection> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_of(&self, peer: &Fingerprint) -> bool {
        self.peer == *peer
    }

    /// Closes the connection, after a word of farewell if nobody is sending.
    pub fn close(&self) {
        self.tls().send_close_notify();
        if let Ok(mut out) = self.out.try_lock()
            && !out.failed
        {
            let _ =
                Pushing { out: &mut out, deadline: Deadline::after(Duration::from_millis(10)) }.flush(self);
            out.failed = true;
        }
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Writes records while `out` is locked.
struct Pushing<'a> {
    out: &'a mut Out,
    deadline: Deadline,
}

impl Pushing<'_> {
    fn push_record(&mut self, shared: &Shared, parts: &[&[u8]]) -> Result<(), Error> {
        self.out.plain.clear();
        for part in parts {
            self.out.plain.extend_from_slice(part);
        }
        self.write(shared, |tls, plain| tls.writer().write_all(plain))
    }

    fn flush(&mut self, shared: &Shared) -> Result<(), Error> {
        self.write(shared, |_, _| Ok(()))
    }

    fn write(
        &mut self,
        shared: &Shared,
        encrypt: impl FnOnce(&mut Connection, &[u8]) -> io::Result<()>,
    ) -> Result<(), Error> {
        let Out { plain, encrypted, .. } = &mut *self.out;
        encrypted.clear();
        let mut tls = shared.tls();
        encrypt(&mut tls, plain)?;
        drain(&mut tls, encrypted)?;
        drop(tls);
        write_all(&shared.stream, encrypted, self.deadline)
    }
}

fn shake_hands(stream: &TcpStream, tls: &mut Connection, deadline: Deadline) -> Result<(), Error> {
    let (mut out, mut octets) = (Vec::new(), [0; 4096]);
    loop {
        out.clear();
        drain(tls, &mut out)?;
        write_all(stream, &out, deadline)?;
        if !tls.is_handshaking() {
            return Ok(());
        }
        if deadline.is_over() {
            return Err(Error::TimedOut);
        }
        let Some(octets_read) = read(stream, &mut octets, deadline.left())? else { continue };
        if octets_read == 0 {
            return Err(Error::Closed);
        }
        let mut octets = &octets[..octets_read];
        while !octets.is_empty() {
            if let Err(error) = feed(tls, &mut octets) {
                // The alert that says why.
                out.clear();
                drain(tls, &mut out)?;
                let _ = write_all(stream, &out, deadline);
                return Err(error);
            }
        }
    }
}

/// What TLS has to send.
fn drain(tls: &mut Connection, into: &mut Vec<u8>) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(into)?;
    }
    Ok(())
}

/// Hands some octets of the peer to TLS.
fn feed(tls: &mut Connection, octets: &mut &[u8]) -> Result<(), Error> {
    // None are taken after the peer has closed the connection.
    if tls.read_tls(octets)? == 0 {
        return Err(Error::Closed);
    }
    tls.process_new_packets().map(drop).map_err(|error| match error {
        rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure) => {
            Error::WrongKey
        }
        error => Error::Tls(error),
    })
}

#[cfg(test)]
mod tests;
