//! Channels between access points. They carry messages that may be lost, doubled and reordered, but not changed, and
//! vouch for the name of the sender.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, TrySendError};

use lasthop_registry::AccessPoint;

use super::event::Event;
use super::handoffs::Destination;
use super::message::MAX_MESSAGE;

/// The maximum number of octets of messages that wait to be handled. Further messages are lost.
const MAX_WAITING: usize = 4 * MAX_MESSAGE;

/// Sends messages to other access points.
pub trait Channel: Send {
    /// Sends a message, and does not wait for the network.
    fn send(&mut self, to: &Destination<'_>, octets: Vec<u8>);
}

/// Where a channel puts the messages that it receives.
#[derive(Clone)]
pub struct Inbox {
    to: SyncSender<Event>,
    waiting: Arc<AtomicUsize>,
}

impl Inbox {
    pub(super) fn new(to: SyncSender<Event>) -> Self {
        Self { to, waiting: Arc::default() }
    }

    /// A message of this access point has come, which is reached at its address. Returns whether there was room
    /// for it.
    pub fn receive(&self, from: &Arc<AccessPoint>, octets: Vec<u8>) -> bool {
        let len = octets.len();
        if self.waiting.fetch_add(len, Relaxed) + len > MAX_WAITING {
            self.waiting.fetch_sub(len, Relaxed);
            return false;
        }
        let event = Event::Message { from: Arc::clone(from), octets, waiting: Arc::clone(&self.waiting) };
        match self.to.try_send(event) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.waiting.fetch_sub(len, Relaxed);
                false
            }
        }
    }
}
