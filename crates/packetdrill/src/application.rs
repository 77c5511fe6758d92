//! The application: its descriptors, the data that it has written and read, and a blocked call.

use std::collections::BTreeMap;

use lasthop_packet::{Instant, Payload};
use lasthop_tcp::Connection;

use crate::error::{Error, Place};
use crate::numbers::PEERS;
use crate::script::Call;

/// The state of the application.
pub struct Application {
    pub descriptors: BTreeMap<i64, Descriptor>,
    /// A blocked call.
    pub waiting: Option<Waiting>,
    pub written: u64,
    received: u64,
    /// Octets that the endpoint has delivered and the application has not read: a read may take a
    /// part of a segment.
    pub unread: u64,
    /// Whether the socket is closed, so that the application reads no more.
    pub is_closed: bool,
    /// Whether a close resets the connection: `SO_LINGER` with a time of zero.
    pub resets: bool,
    /// Whether octets differed from those that the peer sent.
    is_wrong: bool,
}

pub struct Descriptor {
    pub kind: Kind,
    pub is_nonblocking: bool,
    /// Whether the descriptor is shut down for reading.
    pub reads_nothing: bool,
    /// Whether the descriptor is shut down for writing.
    pub is_finished: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    New,
    Listener,
    Stream,
}

pub struct Waiting {
    pub place: Place,
    pub call: Call,
    pub end: Instant,
}

impl Application {
    /// Creates the application. With `is_connected`, descriptor 3 is a connection.
    pub fn new(is_connected: bool) -> Self {
        let stream = Descriptor {
            kind: Kind::Stream,
            is_nonblocking: false,
            reads_nothing: false,
            is_finished: false,
        };
        Self {
            descriptors: is_connected.then_some((3, stream)).into_iter().collect(),
            waiting: None,
            written: 0,
            received: 0,
            unread: 0,
            is_closed: false,
            resets: false,
            is_wrong: false,
        }
    }

    /// The number of octets read.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Fails if a call is blocked at the end of a script, or if data were wrong.
    pub fn finish(&self, place: Place) -> Result<(), Error> {
        if self.is_wrong {
            return Err(Error::failed(place, "the octets read are not what the peer sent"));
        }
        match &self.waiting {
            Some(waiting) => {
                Err(Error::failed(waiting.place, format!("{} did not return", waiting.call.name)))
            }
            None => Ok(()),
        }
    }

    /// Opens a descriptor, with the script's number if that is free.
    pub fn open(&mut self, kind: Kind, is_nonblocking: bool, call: &Call) -> i64 {
        let mut free = call.result.integer().unwrap_or_default().max(3);
        while self.descriptors.contains_key(&free) {
            free += 1;
        }
        let descriptor = Descriptor { kind, is_nonblocking, reads_nothing: false, is_finished: false };
        self.descriptors.insert(free, descriptor);
        free
    }

    /// Reads up to `octets` from the endpoint. Returns the number read.
    pub fn take(&mut self, connection: &mut Connection, octets: u64) -> u64 {
        while self.unread < octets
            && let Some(payload) = connection.read()
        {
            let len = payload.len() as u32;
            let offset = self.received + self.unread;
            self.is_wrong |= payload != Payload::Stream { stream: PEERS, offset, len };
            self.unread += u64::from(len);
        }
        let taken = self.unread.min(octets);
        self.unread -= taken;
        self.received += taken;
        taken
    }
}
