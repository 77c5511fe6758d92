//! Requests to the packet loop from other threads.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::packet_loop::Request;
use crate::io::Wake;

/// The packet loop answers in far less; one that does not has a fault.
const PATIENCE: Duration = Duration::from_secs(5);

/// A channel to the packet loop that also wakes it.
#[derive(Clone)]
pub(super) struct Requests {
    to: Sender<Request>,
    wake: Arc<Wake>,
}

/// Why there was no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// The loop has ended.
    Ended,
    /// It is busy with something that takes seconds.
    Late,
}

impl Requests {
    /// To a loop that hears what is put into `to`, and that `wake` ends the waits of.
    pub(super) fn new(to: Sender<Request>, wake: Wake) -> Self {
        Self { to, wake: Arc::new(wake) }
    }

    /// Sends a request and wakes the loop.
    pub(super) fn put(&self, request: Request) -> Result<(), Unanswered> {
        self.to.send(request).map_err(|_| Unanswered::Ended)?;
        (self.wake)();
        Ok(())
    }

    /// Sends a question and waits for the answer.
    pub(super) fn ask<T>(&self, question: impl FnOnce(Sender<T>) -> Request) -> Result<T, Unanswered> {
        let (to, answer): (_, Receiver<T>) = channel();
        self.put(question(to))?;
        answer.recv_timeout(PATIENCE).map_err(|error| match error {
            std::sync::mpsc::RecvTimeoutError::Timeout => Unanswered::Late,
            std::sync::mpsc::RecvTimeoutError::Disconnected => Unanswered::Ended,
        })
    }
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ended => "the packet loop has ended",
            Self::Late => "the packet loop does not answer",
        })
    }
}
