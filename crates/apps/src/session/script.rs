//! What two hosts say to each other over connections: the language of scripts.

use lasthop_packet::{Instant, Rng};

/// One of the two hosts of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The one that opens connections.
    Client,
    /// The other one.
    Server,
}

impl Party {
    /// 0 or 1: the client first.
    pub const fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    /// The party with this index.
    pub const fn of(index: usize) -> Self {
        if index == 0 { Self::Client } else { Self::Server }
    }
}

/// A connection, as a script calls it: a small number. Opening another one under the same number
/// leaves the one before to itself.
pub type Lane = usize;

/// Something to be done with connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The client opens a connection to this port of the server.
    Open {
        /// Which.
        lane: Lane,
        /// The server's port.
        port: u16,
    },
    /// A party writes a message of `octets`, above zero.
    Write {
        /// Over which connection.
        lane: Lane,
        /// Who writes.
        from: Party,
        /// How long the message is.
        octets: u64,
    },
    /// A party writes nothing more; the other one closes, too, when it has read all.
    Close {
        /// Which connection.
        lane: Lane,
        /// Who.
        from: Party,
    },
    /// As [`Self::Close`], and the script hears no more of it.
    Leave {
        /// Which connection.
        lane: Lane,
        /// Who.
        from: Party,
    },
}

/// What a script can do when it is asked.
pub struct Turn<'a> {
    /// The time.
    pub now: Instant,
    /// The dialogue's own random numbers.
    pub rng: &'a mut Rng,
    pub(super) steps: &'a mut Vec<Step>,
    /// When the script is to be called again.
    pub(super) wake_at: &'a mut Option<Instant>,
}

impl Turn<'_> {
    /// Opens a connection to this port of the server.
    pub fn open(&mut self, lane: Lane, port: u16) {
        self.steps.push(Step::Open { lane, port });
    }

    /// Writes this many octets, at least one.
    pub fn write(&mut self, lane: Lane, from: Party, octets: u64) {
        self.steps.push(Step::Write { lane, from, octets: octets.max(1) });
    }

    /// Closes a connection from this end: nothing more is written there.
    pub fn close(&mut self, lane: Lane, from: Party) {
        self.steps.push(Step::Close { lane, from });
    }

    /// The same, and the script learns no more of this connection.
    pub fn leave(&mut self, lane: Lane, from: Party) {
        self.steps.push(Step::Leave { lane, from });
    }

    /// Asks to be called again then.
    pub const fn wake_at(&mut self, at: Instant) {
        *self.wake_at = Some(at);
    }
}

/// A kind of dialogue. It has one transaction at a time: a page, a message, a file.
pub trait Script: Send {
    /// Decides what the next transaction is, and says how many octets will be written in it.
    fn plan(&mut self, rng: &mut Rng) -> u64;

    /// Begins it.
    fn begin(&mut self, turn: &mut Turn<'_>);

    /// A message has arrived in whole; whether that completes the transaction.
    fn arrived(&mut self, lane: Lane, at: Party, turn: &mut Turn<'_>) -> bool;

    /// The time has come for which it asked.
    fn woken(&mut self, turn: &mut Turn<'_>) {
        let _ = turn;
    }

    /// A connection has failed; all others are gone, too.
    fn failed(&mut self) {}

    /// There will be no other transaction.
    fn finish(&mut self, turn: &mut Turn<'_>) {
        let _ = turn;
    }
}
