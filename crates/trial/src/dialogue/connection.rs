//! A connection between two real hosts with both of its ends, and its messages.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use lasthop_apps::session::{Lane, Party};
use rustix::event::PollFlags;

use crate::pattern;
use crate::sample::retransmits;
use crate::socket;

/// A connection of a dialogue. End 0 is the client's.
#[derive(Debug)]
pub(super) struct Connection {
    /// Its number among the connections of the dialogue, from 1.
    pub(super) number: u64,
    /// Its name in the script; `None` once the script no longer uses it.
    pub(super) lane: Option<Lane>,
    /// The addresses of the client's and of the server's end.
    between: [SocketAddr; 2],
    ends: [End; 2],
    has_failed: bool,
}

/// One end.
#[derive(Debug, Default)]
struct End {
    /// `None` until the server has accepted the connection.
    socket: Option<TcpStream>,
    /// The number of the stream whose octets it writes.
    stream: u64,
    /// Octets that its application has written.
    written: u64,
    /// Of these, the octets that the kernel has accepted.
    sent: u64,
    /// Of these, the octets that the other end has read.
    delivered: u64,
    /// The end of each message that the other end has not read completely.
    messages: VecDeque<u64>,
    /// Whether its application has written its last octet.
    is_closing: bool,
    /// Whether the kernel has been informed of that.
    has_closed: bool,
    /// Whether it has read the last octet of the other end.
    has_read_all: bool,
}

/// The result of a read at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadResult {
    pub(super) octets: u64,
    /// Messages that are complete now.
    pub(super) messages: usize,
    pub(super) is_wrong: bool,
}

impl Connection {
    /// Begins to open a connection, from the calling thread's namespace.
    pub(super) fn open(number: u64, lane: Lane, server: SocketAddr, congestion: &str) -> io::Result<Self> {
        let socket = socket::open(server, congestion)?;
        // As in the simulator, whose TCP has no Nagle algorithm.
        socket.set_nodelay(true)?;
        let between = [socket.local_addr()?, server];
        let ends = [
            End { socket: Some(socket), stream: 2 * number, ..End::default() },
            End { stream: 2 * number + 1, ..End::default() },
        ];
        Ok(Self { number, lane: Some(lane), between, ends, has_failed: false })
    }

    /// Whether it is between these two addresses and not accepted by the server yet.
    pub(super) fn is_between(&self, client: SocketAddr, server: SocketAddr) -> bool {
        self.between == [client, server] && self.ends[1].socket.is_none()
    }

    /// Adds the socket that the server has accepted.
    pub(super) fn accept(&mut self, socket: TcpStream) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        self.ends[1].socket = Some(socket);
        Ok(())
    }

    /// Writes a message of a party.
    pub(super) fn write(&mut self, from: Party, octets: u64) {
        let end = &mut self.ends[from.index()];
        end.written += octets;
        end.messages.push_back(end.written);
    }

    /// Closes the connection after the messages of a party.
    pub(super) const fn close(&mut self, from: Party) {
        self.ends[from.index()].is_closing = true;
    }

    /// Passes written octets to the kernel, as many as it accepts.
    pub(super) fn flush(&mut self) {
        for end in &mut self.ends {
            self.has_failed |= end.flush().is_err();
        }
    }

    /// Reads once at an end, which also closes if the other end has closed.
    pub(super) fn read(&mut self, end: usize, buffer: &mut [u8]) -> ReadResult {
        let [client, server] = &mut self.ends;
        let (here, there) = if end == 0 { (client, server) } else { (server, client) };
        let Some(socket) = &mut here.socket else { return ReadResult::default() };
        match socket.read(buffer) {
            Ok(0) => (here.has_read_all, here.is_closing) = (true, true),
            Ok(count) => return there.deliver(&buffer[..count]),
            Err(error) if would_block(&error) => {}
            Err(_) => self.has_failed = true,
        }
        ReadResult::default()
    }

    /// The ends that wait for the kernel, each with its socket and the events for which it waits.
    pub(super) fn interests(&self) -> impl Iterator<Item = (usize, (&TcpStream, PollFlags))> {
        self.ends.iter().enumerate().filter_map(|(index, end)| Some((index, end.interest()?)))
    }

    /// Whether an end was reset or timed out.
    pub(super) const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether both ends have closed and read all octets, or one has failed.
    pub(super) fn is_over(&self) -> bool {
        self.has_failed || self.ends.iter().all(|end| end.has_closed && end.has_read_all)
    }

    /// Whether a message has not arrived completely.
    pub(super) fn has_undelivered(&self) -> bool {
        self.ends.iter().any(|end| !end.messages.is_empty())
    }

    /// Segments that the TCP of the two hosts retransmitted.
    pub(super) fn retransmits(&self) -> u64 {
        let sockets = self.ends.iter().filter_map(|end| end.socket.as_ref());
        // The kernel reports the number for every TCP socket.
        sockets.map(|socket| retransmits(socket).unwrap_or(0)).sum()
    }

    /// Closes the connection at once, without delivery of octets in transit.
    pub(super) fn abort(self) {
        self.ends.iter().filter_map(|end| end.socket.as_ref()).for_each(socket::abort_on_close);
    }
}

impl End {
    fn flush(&mut self) -> io::Result<()> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        while self.sent < self.written {
            let left = usize::try_from(self.written - self.sent).unwrap_or(usize::MAX);
            match socket.write(pattern::octets(self.stream, self.sent, left)) {
                Ok(octets) => self.sent += octets as u64,
                Err(error) if would_block(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        // Shutting down a connection that is not established yet would abort it.
        if self.is_closing && !self.has_closed && socket.peer_addr().is_ok() {
            socket.shutdown(Shutdown::Write)?;
            self.has_closed = true;
        }
        Ok(())
    }

    /// Records that the other end has read these octets of this end's stream.
    fn deliver(&mut self, octets: &[u8]) -> ReadResult {
        let mut read = ReadResult {
            octets: octets.len() as u64,
            messages: 0,
            is_wrong: !pattern::is_right(self.stream, self.delivered, octets),
        };
        self.delivered += read.octets;
        read.is_wrong |= self.delivered > self.sent;
        while self.messages.front().is_some_and(|message| *message <= self.delivered) {
            self.messages.pop_front();
            read.messages += 1;
        }
        read
    }

    /// The events for which it waits; `None` without any.
    fn interest(&self) -> Option<(&TcpStream, PollFlags)> {
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, !self.has_read_all);
        interest.set(PollFlags::OUT, self.sent < self.written || (self.is_closing && !self.has_closed));
        Some((self.socket.as_ref()?, interest)).filter(|_| !interest.is_empty())
    }
}

/// Whether the socket cannot be read, written or accepted from now, without an error.
pub(super) fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_complete_with_its_last_octet_and_wrong_octets_are_detected() {
        let messages = [100, 300].into();
        let mut end = End { stream: 5, written: 300, sent: 300, messages, ..End::default() };
        let octets = pattern::octets(5, 0, 300);
        assert_eq!(end.deliver(&octets[..99]), ReadResult { octets: 99, messages: 0, is_wrong: false });
        assert_eq!(end.deliver(&octets[99..100]), ReadResult { octets: 1, messages: 1, is_wrong: false });
        assert!(end.deliver(&octets[..10]).is_wrong, "octets of another position");
        assert_eq!(end.deliver(&octets[110..]), ReadResult { octets: 190, messages: 1, is_wrong: false });
        assert!(end.deliver(pattern::octets(5, 300, 1)).is_wrong, "more than was written");
    }
}
