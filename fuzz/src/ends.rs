//! Two hosts whose connection an agent splits.

use std::net::IpAddr;

use lasthop_packet::{Payload, Seq};
use lasthop_tcp::{Config, Connection, State};

use crate::octets::Octets;

/// What each of them writes at most.
const MAX_OCTETS: u64 = 60_000;

/// A host, its stream and what has come of the other one's.
pub struct End {
    pub connection: Connection,
    /// The number of its stream.
    stream: u32,
    has_closed: bool,
    pub written: u64,
    pub read: u64,
}

/// A server and a phone, one of which opens the connection.
pub fn ends(octets: &mut Octets<'_>, server: (IpAddr, u16), phone: (IpAddr, u16)) -> [End; 2] {
    let isses =
        octets.pick(&[[7_000_000, 1000], [u32::MAX - 3000, (1 << 31) - 3000], [0, u32::MAX]]).map(Seq);
    let config = |octets: &mut Octets<'_>| Config {
        mss: octets.pick(&[1460, 1460, 100, 9000]),
        window: octets.pick(&[65_535, 20_000, 3000]),
        ..octets.pick(&[0, 1]).eq(&0).then(Config::linux).unwrap_or_default()
    };
    let (of_server, of_phone) = (config(octets), config(octets));
    let connections = if octets.flag() {
        [
            Connection::connect(of_server, server, phone, isses[0]),
            Connection::listen(of_phone, phone, isses[1]),
        ]
    } else {
        [
            Connection::listen(of_server, server, isses[0]),
            Connection::connect(of_phone, phone, server, isses[1]),
        ]
    };
    let mut stream = 0;
    connections.map(|connection| {
        stream += 1;
        End { connection, stream, has_closed: false, written: 0, read: 0 }
    })
}

pub fn is_opening(end: &End) -> bool {
    matches!(end.connection.state(), State::Listen | State::SynSent | State::SynReceived)
}

pub fn is_closed(end: &End) -> bool {
    matches!(end.connection.state(), State::Closed | State::TimeWait)
}

impl End {
    pub fn write(&mut self, octets: u64) {
        let octets = if self.has_closed { 0 } else { octets.min(MAX_OCTETS - self.written) };
        self.connection.write_stream(self.stream, self.written, octets);
        self.written += octets;
    }

    /// Closes, unless there is no connection yet: such an end has none then.
    pub fn close(&mut self) {
        if !is_opening(self) {
            self.connection.close();
            self.has_closed = true;
        }
    }

    pub fn read(&mut self) {
        while let Some(piece) = self.connection.read() {
            let Payload::Stream { stream, offset, len } = piece else {
                panic!("these are no octets of a host's: {piece:?}")
            };
            assert_eq!((stream, offset), (3 - self.stream, self.read), "a wrong octet");
            self.read += u64::from(len);
        }
    }

    /// Octets that it takes for delivered.
    pub fn acknowledged(&self) -> u64 {
        self.written.saturating_sub(self.connection.unacknowledged())
    }

    /// All that it has written has come to the other one.
    pub fn assert_arrived_at(&self, to: &Self) {
        assert_eq!(to.read, self.written, "octets are missing of stream {}", self.stream);
    }
}
