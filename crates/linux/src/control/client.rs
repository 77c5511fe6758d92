//! A client of a control socket or of the metrics listener: one request, one response, with a time
//! limit. Nothing here blocks.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::event::PollFlags;

/// A client is disconnected if its request is incomplete after this time, or if it reads nothing of
/// the response for this long.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// A client is disconnected after this time in any case.
const MAX_VISIT: Duration = Duration::from_secs(10);
/// Octets read from a client at a time, before the other clients are served.
const PIECE: usize = 4096;

/// A part of a response, and what is known of its rest, if there is one.
#[derive(Debug, PartialEq, Eq)]
pub struct Part<R> {
    /// The octets to send.
    pub octets: Vec<u8>,
    /// The state from which the next part is made; `None` after the last part.
    pub rest: Option<R>,
}

impl<R> Part<R> {
    /// A response in one part.
    pub const fn whole(octets: Vec<u8>) -> Self {
        Self { octets, rest: None }
    }
}

/// Produces responses.
pub trait Answers {
    /// The state of the rest of a response in parts; `Infallible` if each is in one part.
    type Rest;
    /// Whether a request is complete, or too long.
    fn is_whole(&self, request: &[u8]) -> bool;
    /// The first part of the response.
    fn answer(&self, request: &[u8]) -> Part<Self::Rest>;
    /// A further part; it may be empty.
    fn next_part(&self, rest: Self::Rest) -> Part<Self::Rest>;
}

/// A non-blocking connection.
pub trait Stream: Read + Write + AsFd {}
impl Stream for UnixStream {}
impl Stream for TcpStream {}

/// A client, from the first octet of its request to the last of its response.
pub struct Client<R> {
    stream: Box<dyn Stream>,
    request: Vec<u8>,
    /// `None` until the request is complete.
    answer: Option<Part<R>>,
    written: usize,
    came: Instant,
    moved: Instant,
}

impl<R> Client<R> {
    /// A client that has just connected, over a non-blocking connection.
    pub fn new(stream: impl Stream + 'static, now: Instant) -> Self {
        let stream = Box::new(stream);
        Self { stream, request: Vec::new(), answer: None, written: 0, came: now, moved: now }
    }

    /// Whether its request is not complete yet.
    pub const fn is_silent(&self) -> bool {
        self.answer.is_none()
    }

    /// The connection, for polling.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The event to poll for.
    pub fn waits_for(&self) -> PollFlags {
        if self.answer.is_some() { PollFlags::OUT } else { PollFlags::IN }
    }

    /// When it is disconnected if nothing happens.
    pub fn deadline(&self) -> Instant {
        // Sending the request octet by octet does not extend the deadline.
        let patient = if self.answer.is_some() { self.moved } else { self.came } + PATIENCE;
        patient.min(self.came + MAX_VISIT)
    }

    /// Proceeds as far as possible without blocking. `false` if it has to be disconnected: the
    /// response is complete, its time is over, or it has closed the connection.
    pub fn step(&mut self, now: Instant, answers: &impl Answers<Rest = R>) -> bool {
        now < self.deadline() && self.try_step(now, answers).unwrap_or(false)
    }

    fn try_step(&mut self, now: Instant, answers: &impl Answers<Rest = R>) -> io::Result<bool> {
        if self.answer.is_none() {
            let mut piece = [0; PIECE];
            let Some(len) = unless_it_would_block(self.stream.read(&mut piece))? else { return Ok(true) };
            self.request.extend_from_slice(&piece[..len]);
            if len > 0 && !answers.is_whole(&self.request) {
                return Ok(true);
            }
            self.answer = Some(answers.answer(&self.request));
            self.moved = now;
        }
        let Some(answer) = &mut self.answer else { return Ok(true) };
        while self.written < answer.octets.len() {
            let Some(len) = unless_it_would_block(self.stream.write(&answer.octets[self.written..]))? else {
                return Ok(true);
            };
            if len == 0 {
                return Ok(false);
            }
            self.written += len;
            self.moved = now;
        }
        let Some(rest) = answer.rest.take() else { return Ok(false) };
        // One part per step, so that other clients and signals are served in between.
        *answer = answers.next_part(rest);
        self.written = 0;
        // It has read everything so far.
        self.moved = now;
        Ok(true)
    }
}

/// `None` if the operation would block.
fn unless_it_would_block(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(len) => Ok(Some(len)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Echoes the request, in three parts.
    struct Echo;

    impl Answers for Echo {
        type Rest = u8;

        fn is_whole(&self, request: &[u8]) -> bool {
            request.ends_with(b"\n") || request.len() > 100
        }

        fn answer(&self, request: &[u8]) -> Part<u8> {
            Part { octets: request.to_vec(), rest: Some(1) }
        }

        fn next_part(&self, number: u8) -> Part<u8> {
            Part { octets: vec![b'0' + number], rest: (number < 2).then_some(number + 1) }
        }
    }

    fn pair<R>() -> (UnixStream, Client<R>) {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        theirs.set_nonblocking(true).expect("a socket");
        (ours, Client::new(theirs, Instant::ZERO))
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_request_in_pieces_gets_a_response_in_parts_and_is_then_disconnected() {
        let (mut stream, mut client) = pair();
        for (ms, piece) in [(0, "que"), (1, "stion\n")] {
            assert!(client.step(at(ms), &Echo));
            assert!(client.waits_for() == PollFlags::IN);
            stream.write_all(piece.as_bytes()).expect("there is room");
        }
        assert!(client.step(at(2), &Echo));
        assert!(client.waits_for() == PollFlags::OUT);
        assert!(client.step(at(3), &Echo) && !client.step(at(4), &Echo), "each part takes a step");
        drop(client);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it was answered");
        assert_eq!(answer, "question\n12");
    }

    #[test]
    fn a_client_that_sends_octet_by_octet_is_disconnected_as_soon_as_a_silent_one() {
        let (mut stream, mut client) = pair();
        for ms in 0..PATIENCE.as_millis() as u64 {
            if ms % 100 == 0 {
                stream.write_all(b"x").expect("there is room");
            }
            assert!(client.step(at(ms), &Echo));
        }
        assert!(!client.step(Instant::ZERO + PATIENCE, &Echo));
        let (_silent, mut client) = pair();
        assert!(client.step(at(0), &Echo) && !client.step(Instant::ZERO + PATIENCE, &Echo));
    }

    /// Its response never ends.
    struct Endless;

    impl Answers for Endless {
        type Rest = ();

        fn is_whole(&self, _request: &[u8]) -> bool {
            true
        }

        fn answer(&self, _request: &[u8]) -> Part<()> {
            Part { octets: vec![7; 1 << 20], rest: Some(()) }
        }

        fn next_part(&self, (): ()) -> Part<()> {
            self.answer(&[])
        }
    }

    #[test]
    fn a_client_that_reads_nothing_or_reads_forever_is_disconnected() {
        let (mut stream, mut client) = pair();
        stream.write_all(b"?").expect("there is room");
        assert!(client.step(at(0), &Endless) && client.step(at(1), &Endless));
        assert!(!client.step(Instant::ZERO + PATIENCE, &Endless), "it read nothing");

        let (mut stream, mut client) = pair();
        stream.write_all(b"?").expect("there is room");
        let mut into = vec![0; 1 << 16];
        let end = (0..20_000).find(|ms| {
            let continues = client.step(at(*ms), &Endless);
            if continues {
                let _ = stream.read(&mut into).expect("it is answered");
            }
            !continues
        });
        assert_eq!(end.map(at), Some(Instant::ZERO + MAX_VISIT));
    }

    #[test]
    fn a_connection_that_ends_is_released() {
        let (stream, mut client) = pair();
        drop(stream);
        assert!(!client.step(at(0), &Echo) || !client.step(at(1), &Echo));
    }
}
