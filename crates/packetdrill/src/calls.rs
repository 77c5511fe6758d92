//! The system calls of the application.

mod options;

use lasthop_packet::Instant;
use lasthop_tcp::{Connection, State};

use crate::application::{Descriptor, Kind, Waiting};
use crate::error::{Error, Place};
use crate::host::Host;
use crate::numbers::{LOCAL, OURS, REMOTE};
use crate::script::{Argument, Call};

/// The calls whose first argument is a descriptor.
const KNOWN: [&str; 17] = [
    "accept",
    "accept4",
    "bind",
    "close",
    "connect",
    "fcntl",
    "getsockopt",
    "ioctl",
    "listen",
    "read",
    "recv",
    "recvfrom",
    "send",
    "sendto",
    "setsockopt",
    "shutdown",
    "write",
];

enum Answer {
    Value(i64),
    Error(&'static str),
    /// The call blocks.
    Blocks,
}

impl Host {
    /// Reads, or resets a closed connection, after an event, without a system call in the script.
    pub(crate) fn serve(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        if self.settings.reads_at_once {
            self.application.take(connection, u64::MAX);
        }
        // Data for a socket that is closed is answered with a reset (RFC 9293, section 3.6.1).
        if self.application.is_closed && connection.unread() > 0 {
            connection.abort();
        }
    }

    /// Lets a blocked call return, if it can.
    pub(crate) fn wake(&mut self, place: Place) -> Result<(), Error> {
        let Some(waiting) = self.application.waiting.take() else { return Ok(()) };
        match self.answer(waiting.place, &waiting.call, true)? {
            Answer::Blocks if self.now > waiting.end + self.settings.tolerance => {
                Err(Error::failed(waiting.place, format!("{} did not return in time", waiting.call.name)))
            }
            Answer::Blocks => {
                self.application.waiting = Some(waiting);
                Ok(())
            }
            answer => {
                let tolerance = self.settings.tolerance;
                if self.now + tolerance < waiting.end || self.now > waiting.end + tolerance {
                    let Waiting { call, end, .. } = waiting;
                    return Err(Error::failed(
                        place,
                        format!("expected {} to return at {end}\n  got at {}", call.name, self.now),
                    ));
                }
                compare(waiting.place, &waiting.call, &answer)?;
                self.settle();
                Ok(())
            }
        }
    }

    pub(crate) fn call(&mut self, place: Place, call: &Call, end: Option<Instant>) -> Result<(), Error> {
        if let Some(waiting) = &self.application.waiting {
            return Err(Error::failed(waiting.place, format!("{} did not return", waiting.call.name)));
        }
        match (self.answer(place, call, end.is_some())?, end) {
            (Answer::Blocks, Some(end)) => {
                self.application.waiting = Some(Waiting { place, call: call.clone(), end });
                Ok(())
            }
            (answer, _) => compare(place, call, &answer),
        }
    }

    fn answer(&mut self, place: Place, call: &Call, may_wait: bool) -> Result<Answer, Error> {
        let unknown = || Error::not_understood(place, format!("the system call {}", call.name));
        if call.name == "socket" {
            return self.socket(place, call);
        }
        if !KNOWN.contains(&call.name.as_str()) {
            return Err(unknown());
        }
        let Some(fd) = call.arguments.first().and_then(Argument::integer) else {
            return Err(Error::expected(place, "a descriptor first"));
        };
        let Some(descriptor) = self.application.descriptors.get_mut(&fd) else {
            return Ok(Answer::Error("EBADF"));
        };
        let kind = descriptor.kind;
        let waits = may_wait && !descriptor.is_nonblocking;
        let later = if waits { Answer::Blocks } else { Answer::Error("EAGAIN") };
        Ok(match call.name.as_str() {
            "bind" => Answer::Value(0),
            "listen" => {
                descriptor.kind = Kind::Listener;
                self.only_one(place)?;
                let config = self.settings.config.clone();
                self.begin(Connection::listen(config, LOCAL, self.numbers.iss));
                Answer::Value(0)
            }
            "accept" | "accept4" => {
                let state = self.connection.as_ref().map(Connection::state);
                let is_there = !matches!(state, None | Some(State::Listen | State::SynReceived));
                if is_there && kind == Kind::Listener && self.streams() == 0 {
                    let is_nonblocking =
                        call.arguments.last().is_some_and(|flags| flags.has_word("SOCK_NONBLOCK"));
                    Answer::Value(self.application.open(Kind::Stream, is_nonblocking, call))
                } else {
                    later
                }
            }
            "connect" => self.connect(place, fd, waits)?,
            "read" | "recv" | "recvfrom" => {
                if call.name != "read"
                    && call.arguments.get(3).is_some_and(|flags| flags.integer() != Some(0))
                {
                    return Err(Error::not_understood(place, format!("flags of {}", call.name)));
                }
                let octets = call.arguments.get(2).and_then(Argument::integer);
                let Some(octets) = octets else { return Err(unknown()) };
                self.read(fd, octets.max(0).unsigned_abs(), later)
            }
            "write" | "send" | "sendto" if descriptor.is_finished => Answer::Error("EPIPE"),
            "write" | "send" | "sendto" => self.write(place, call)?,
            "close" => self.close(fd, kind),
            "shutdown" => {
                let Some(how) = call.arguments.get(1) else { return Err(unknown()) };
                let is_both = how.has_word("SHUT_RDWR");
                descriptor.reads_nothing |= is_both || how.has_word("SHUT_RD");
                if is_both || how.has_word("SHUT_WR") {
                    descriptor.is_finished = true;
                    if let Some(connection) = &mut self.connection {
                        connection.close();
                    }
                }
                Answer::Value(0)
            }
            "fcntl" => self.fcntl(place, fd, call)?,
            "ioctl" => self.ioctl(place, call)?,
            "setsockopt" => self.set_option(place, call)?,
            "getsockopt" => self.get_option(place, call)?,
            _ => return Err(unknown()),
        })
    }

    fn socket(&mut self, place: Place, call: &Call) -> Result<Answer, Error> {
        let Some(kind) = call.arguments.get(1).filter(|kind| kind.has_word("SOCK_STREAM")) else {
            return Err(Error::not_understood(place, "a socket that is not SOCK_STREAM"));
        };
        if call.arguments.get(2).is_some_and(|protocol| protocol.has_word("IPPROTO_MPTCP")) {
            return Err(Error::not_understood(place, "MPTCP"));
        }
        Ok(Answer::Value(self.application.open(Kind::New, kind.has_word("SOCK_NONBLOCK"), call)))
    }

    fn only_one(&self, place: Place) -> Result<(), Error> {
        match self.connection {
            Some(_) => Err(Error::not_understood(place, "a second connection")),
            None => Ok(()),
        }
    }

    fn streams(&self) -> usize {
        self.application.descriptors.values().filter(|descriptor| descriptor.kind == Kind::Stream).count()
    }

    fn connect(&mut self, place: Place, fd: i64, waits: bool) -> Result<Answer, Error> {
        if descriptor_of(self, fd).kind == Kind::New {
            self.only_one(place)?;
            descriptor_of(self, fd).kind = Kind::Stream;
            let mut config = self.settings.config.clone();
            config.ecn &= !self.settings.ecn_if_offered;
            self.begin(Connection::connect(config, LOCAL, REMOTE, self.numbers.iss));
            return Ok(if waits { Answer::Blocks } else { Answer::Error("EINPROGRESS") });
        }
        let Some(connection) = &self.connection else { return Ok(Answer::Error("EINVAL")) };
        Ok(match connection.state() {
            State::SynSent | State::SynReceived if waits => Answer::Blocks,
            State::SynSent | State::SynReceived => Answer::Error("EALREADY"),
            State::Closed if connection.was_reset() => Answer::Error("ECONNREFUSED"),
            State::Closed => Answer::Error("ETIMEDOUT"),
            _ => Answer::Value(0),
        })
    }

    fn read(&mut self, fd: i64, octets: u64, later: Answer) -> Answer {
        let is_shut = descriptor_of(self, fd).reads_nothing;
        let Some(connection) = &mut self.connection else { return Answer::Error("ENOTCONN") };
        let taken = self.application.take(connection, octets);
        if taken > 0 || octets == 0 || connection.peer_has_closed() || is_shut {
            return Answer::Value(taken.cast_signed());
        }
        match connection.state() {
            State::Listen => Answer::Error("ENOTCONN"),
            State::Closed if connection.was_reset() => Answer::Error("ECONNRESET"),
            State::Closed => Answer::Error("ETIMEDOUT"),
            _ => later,
        }
    }

    fn write(&mut self, place: Place, call: &Call) -> Result<Answer, Error> {
        let flags = call.arguments.get(3);
        let plain = |flags: &Argument| {
            flags.integer() == Some(0)
                || !flags.words().is_empty()
                    && flags.words().iter().all(|flag| flag == "MSG_NOSIGNAL" || flag == "MSG_DONTWAIT")
        };
        if flags.is_some_and(|flags| !plain(flags)) {
            return Err(Error::not_understood(place, format!("flags of {}", call.name)));
        }
        let octets = call.arguments.get(2).and_then(Argument::integer).unwrap_or(-1);
        if !(0..=1 << 30).contains(&octets) {
            return Err(Error::expected(place, "a number of octets, up to 2^30"));
        }
        let Some(connection) = &mut self.connection else { return Ok(Answer::Error("EPIPE")) };
        if matches!(connection.state(), State::Closed | State::Listen) {
            return Ok(Answer::Error("EPIPE"));
        }
        connection.write_stream(OURS, self.application.written, octets.unsigned_abs());
        self.application.written += octets.unsigned_abs();
        Ok(Answer::Value(octets))
    }

    fn close(&mut self, fd: i64, kind: Kind) -> Answer {
        self.application.descriptors.remove(&fd);
        if kind == Kind::Stream
            && let Some(connection) = &mut self.connection
        {
            self.application.is_closed = true;
            let is_unread = connection.unread() > 0 || self.application.unread > 0;
            // RFC 9293, section 3.10.4: a close in SYN-SENT deletes the connection. RFC 2525,
            // section 2.17: a close with unread data resets it.
            if self.application.resets || is_unread || connection.state() == State::SynSent {
                connection.abort();
            } else {
                connection.close();
            }
        }
        Answer::Value(0)
    }

    fn fcntl(&mut self, place: Place, fd: i64, call: &Call) -> Result<Answer, Error> {
        let Some(operation) = call.arguments.get(1) else {
            return Err(Error::expected(place, "an operation"));
        };
        if operation.has_word("F_GETFL") {
            return Ok(Answer::Value(2));
        }
        match call.arguments.get(2) {
            Some(flags) if operation.has_word("F_SETFL") => {
                descriptor_of(self, fd).is_nonblocking = flags.has_word("O_NONBLOCK");
                Ok(Answer::Value(0))
            }
            _ => Err(Error::not_understood(place, "this fcntl")),
        }
    }

    fn ioctl(&mut self, place: Place, call: &Call) -> Result<Answer, Error> {
        let is_unread =
            call.arguments.get(1).is_some_and(|what| what.has_word("SIOCINQ") || what.has_word("FIONREAD"));
        let wanted = call.arguments.get(2).and_then(Argument::integer);
        let (Some(connection), Some(wanted), true) = (&self.connection, wanted, is_unread) else {
            return Err(Error::not_understood(place, "this ioctl"));
        };
        let unread = i64::from(connection.unread()) + self.application.unread.cast_signed();
        if unread == wanted {
            return Ok(Answer::Value(0));
        }
        Err(Error::failed(place, format!("expected {wanted} octets to read\n  got {unread}")))
    }
}

/// A descriptor that is known to exist.
fn descriptor_of(host: &mut Host, fd: i64) -> &mut Descriptor {
    host.application.descriptors.get_mut(&fd).expect("it was looked up when the call began")
}

fn compare(place: Place, call: &Call, answer: &Answer) -> Result<(), Error> {
    let is_equal = match (answer, &call.error) {
        (Answer::Value(value), None) => {
            call.result == Argument::Ellipsis
                || call.result.integer() == Some(*value)
                || call.name == "fcntl" && call.result.integer().is_none()
        }
        (Answer::Error(error), Some(wanted)) => wanted == error && call.result.integer() == Some(-1),
        _ => false,
    };
    if is_equal || (call.name == "fcntl" && call.error.is_none()) {
        return Ok(());
    }
    let got = match answer {
        Answer::Value(value) => value.to_string(),
        Answer::Error(error) => format!("-1 {error}"),
        Answer::Blocks => "none: it waits".into(),
    };
    let wanted = match (&call.error, call.result.integer()) {
        (Some(error), Some(result)) => format!("{result} {error}"),
        (_, Some(result)) => result.to_string(),
        _ => format!("{:?}", call.result),
    };
    Err(Error::failed(place, format!("expected {} to return {wanted}\n  got {got}", call.name)))
}
