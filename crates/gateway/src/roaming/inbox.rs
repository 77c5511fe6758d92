//! Messages of other access points that wait to be handled.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, TrySendError};

use super::event::Event;
use super::message::MAX_MESSAGE;

/// The maximum number of octets of messages that wait to be handled. Further messages are lost.
const MAX_WAITING: usize = 4 * MAX_MESSAGE;

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

    /// A message of the access point with this name has come. Returns whether there was room for it.
    pub fn receive(&self, from: &Arc<str>, octets: Vec<u8>) -> bool {
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
