//! Scripts of dialogues between two hosts over connections: their trait, and the steps that they
//! use.

use lasthop_packet::{Instant, Rng};

/// One of the two hosts of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The host that opens connections.
    Client,
    /// The other host.
    Server,
}

impl Party {
    /// The index of the party: 0 for the client, 1 for the server.
    pub const fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    /// The party with this index.
    pub const fn from_index(index: usize) -> Self {
        if index == 0 { Self::Client } else { Self::Server }
    }
}

/// A script's identifier of a connection: a small number. When a script opens another connection
/// with the same number, it receives no more events of the previous one.
pub type Lane = usize;

/// An action on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The client opens a connection to a port of the server.
    Open {
        /// The new connection.
        lane: Lane,
        /// The server's port.
        port: u16,
    },
    /// A party writes a message of `octets`, above zero.
    Write {
        /// The connection.
        lane: Lane,
        /// The party that writes.
        from: Party,
        /// The length of the message.
        octets: u64,
    },
    /// A party closes its direction; the other one closes, too, when it has read all data.
    Close {
        /// The connection.
        lane: Lane,
        /// The party that closes.
        from: Party,
    },
    /// Like [`Self::Close`], and the script receives no more events of the connection.
    Leave {
        /// The connection.
        lane: Lane,
        /// The party that closes.
        from: Party,
    },
}

/// The context of a call to a script, through which the script acts.
pub struct Turn<'a> {
    /// The current time.
    pub now: Instant,
    /// The dialogue's random number generator.
    pub rng: &'a mut Rng,
    pub(super) steps: &'a mut Vec<Step>,
    /// The time at which the script is called again.
    pub(super) wake_at: &'a mut Option<Instant>,
}

impl Turn<'_> {
    /// Opens a connection to a port of the server.
    pub fn open(&mut self, lane: Lane, port: u16) {
        self.steps.push(Step::Open { lane, port });
    }

    /// Writes a message of `octets`, at least one.
    pub fn write(&mut self, lane: Lane, from: Party, octets: u64) {
        self.steps.push(Step::Write { lane, from, octets: octets.max(1) });
    }

    /// Closes one direction of a connection: `from` writes no more data.
    pub fn close(&mut self, lane: Lane, from: Party) {
        self.steps.push(Step::Close { lane, from });
    }

    /// Like [`Self::close`], and the script receives no more events of this connection.
    pub fn leave(&mut self, lane: Lane, from: Party) {
        self.steps.push(Step::Leave { lane, from });
    }

    /// Requests a call of [`Script::woken`] at this time.
    pub const fn wake_at(&mut self, at: Instant) {
        *self.wake_at = Some(at);
    }
}

/// A kind of dialogue. It has one transaction at a time: a page, a message or a file.
pub trait Script: Send {
    /// Plans the next transaction, and returns the number of octets that both parties will write in
    /// it.
    fn plan(&mut self, rng: &mut Rng) -> u64;

    /// Begins the transaction.
    fn begin(&mut self, turn: &mut Turn<'_>);

    /// Called when a message has arrived completely. Returns whether that completes the
    /// transaction.
    fn arrived(&mut self, lane: Lane, at: Party, turn: &mut Turn<'_>) -> bool;

    /// Called at the time that was requested with [`Turn::wake_at`].
    fn woken(&mut self, turn: &mut Turn<'_>) {
        let _ = turn;
    }

    /// Called when a connection has failed; all others are gone, too.
    fn failed(&mut self) {}

    /// Called when no other transaction follows.
    fn finish(&mut self, turn: &mut Turn<'_>) {
        let _ = turn;
    }
}
