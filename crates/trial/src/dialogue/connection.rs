//! A connection between two real hosts with both of its ends, and what is said over it.

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
    /// How many the dialogue had opened when this was.
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
    /// Which octets it writes.
    stream: u64,
    /// Octets that its application has written; of these, those that the kernel has taken, and
    /// those that the other end has got.
    said: u64,
    sent: u64,
    delivered: u64,
    /// Where each message ends that the other end has not got yet.
    messages: VecDeque<u64>,
    /// Its application says nothing more; the kernel knows.
    is_closing: bool,
    has_closed: bool,
    /// The other end says nothing more.
    has_heard_all: bool,
}

/// The result of a read at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) octets: u64,
    /// Messages that are whole now.
    pub(super) messages: usize,
    pub(super) is_wrong: bool,
}

impl Connection {
    /// Begins to open one, from the calling thread's namespace.
    pub(super) fn open(number: u64, lane: Lane, server: SocketAddr, congestion: &str) -> io::Result<Self> {
        let socket = socket::open(server, congestion)?;
        // What the simulator's TCP does: it has no Nagle algorithm.
        socket.set_nodelay(true)?;
        let between = [socket.local_addr()?, server];
        let ends = [
            End { socket: Some(socket), stream: 2 * number, ..End::default() },
            End { stream: 2 * number + 1, ..End::default() },
        ];
        Ok(Self { number, lane: Some(lane), between, ends, has_failed: false })
    }

    /// Whether it is the one between these two addresses whose server has not accepted it yet.
    pub(super) fn is_between(&self, client: SocketAddr, server: SocketAddr) -> bool {
        self.between == [client, server] && self.ends[1].socket.is_none()
    }

    /// The server has accepted it.
    pub(super) fn accept(&mut self, socket: TcpStream) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        self.ends[1].socket = Some(socket);
        Ok(())
    }

    /// A party writes a message.
    pub(super) fn say(&mut self, from: Party, octets: u64) {
        let end = &mut self.ends[from.index()];
        end.said += octets;
        end.messages.push_back(end.said);
    }

    /// A party writes nothing more.
    pub(super) const fn close(&mut self, from: Party) {
        self.ends[from.index()].is_closing = true;
    }

    /// Gives the kernel what it takes of what has been said.
    pub(super) fn flush(&mut self) {
        for end in &mut self.ends {
            self.has_failed |= end.flush().is_err();
        }
    }

    /// An end reads once, and closes with the other.
    pub(super) fn read(&mut self, end: usize, buffer: &mut [u8]) -> Taken {
        let [client, server] = &mut self.ends;
        let (here, there) = if end == 0 { (client, server) } else { (server, client) };
        let Some(socket) = &mut here.socket else { return Taken::default() };
        match socket.read(buffer) {
            Ok(0) => {
                (here.has_heard_all, here.is_closing) = (true, true);
                Taken::default()
            }
            Ok(count) => there.deliver(&buffer[..count]),
            Err(error) if is_later(&error) => Taken::default(),
            Err(_) => {
                self.has_failed = true;
                Taken::default()
            }
        }
    }

    /// The ends that wait for the kernel, each with its socket and what it waits for.
    pub(super) fn interests(&self) -> impl Iterator<Item = (usize, (&TcpStream, PollFlags))> {
        self.ends.iter().enumerate().filter_map(|(index, end)| Some((index, end.interest()?)))
    }

    /// An end was reset, or gave up.
    pub(super) const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether both ends have said and heard all, or one has failed.
    pub(super) fn is_over(&self) -> bool {
        self.has_failed || self.ends.iter().all(|end| end.has_closed && end.has_heard_all)
    }

    /// Whether there are messages that have not arrived in whole.
    pub(super) fn has_unsaid(&self) -> bool {
        self.ends.iter().any(|end| !end.messages.is_empty())
    }

    /// Segments that the two hosts' TCP sent again.
    pub(super) fn retransmits(&self) -> u64 {
        let sockets = self.ends.iter().filter_map(|end| end.socket.as_ref());
        // The kernel tells it of any TCP socket.
        sockets.map(|socket| retransmits(socket).unwrap_or(0)).sum()
    }

    /// Closes it at once: what is under way is not wanted any more.
    pub(super) fn abort(self) {
        self.ends.iter().filter_map(|end| end.socket.as_ref()).for_each(socket::abort_on_close);
    }
}

impl End {
    fn flush(&mut self) -> io::Result<()> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        while self.sent < self.said {
            let left = usize::try_from(self.said - self.sent).unwrap_or(usize::MAX);
            match socket.write(pattern::octets(self.stream, self.sent, left)) {
                Ok(octets) => self.sent += octets as u64,
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        // To shut a connection down that is not there yet is to give it up.
        if self.is_closing && !self.has_closed && socket.peer_addr().is_ok() {
            socket.shutdown(Shutdown::Write)?;
            self.has_closed = true;
        }
        Ok(())
    }

    /// These octets of what it said have arrived at the other end.
    fn deliver(&mut self, octets: &[u8]) -> Taken {
        let mut taken = Taken {
            octets: octets.len() as u64,
            messages: 0,
            is_wrong: !pattern::is_right(self.stream, self.delivered, octets),
        };
        self.delivered += taken.octets;
        taken.is_wrong |= self.delivered > self.sent;
        while self.messages.front().is_some_and(|message| *message <= self.delivered) {
            self.messages.pop_front();
            taken.messages += 1;
        }
        taken
    }

    /// The events that it waits for; `None` without any.
    fn interest(&self) -> Option<(&TcpStream, PollFlags)> {
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, !self.has_heard_all);
        interest.set(PollFlags::OUT, self.sent < self.said || (self.is_closing && !self.has_closed));
        Some((self.socket.as_ref()?, interest)).filter(|_| !interest.is_empty())
    }
}

/// Nothing can be read or written now.
pub(super) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_whole_when_their_last_octet_is_here_and_wrong_octets_are_seen() {
        let mut end = End { stream: 5, said: 300, sent: 300, messages: [100, 300].into(), ..End::default() };
        let octets = pattern::octets(5, 0, 300);
        assert_eq!(end.deliver(&octets[..99]), Taken { octets: 99, messages: 0, is_wrong: false });
        assert_eq!(end.deliver(&octets[99..100]), Taken { octets: 1, messages: 1, is_wrong: false });
        assert!(end.deliver(&octets[..10]).is_wrong, "octets of another place");
        assert_eq!(end.deliver(&octets[110..]), Taken { octets: 190, messages: 1, is_wrong: false });
        assert!(end.deliver(pattern::octets(5, 300, 1)).is_wrong, "more than was said");
    }
}
