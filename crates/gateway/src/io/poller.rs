//! Queries to the kernel for which the packet loop cannot wait.
//!
//! One lock of the kernel (RTNL) protects the network configuration. A query waits while another
//! process changes the configuration, for example while a driver loads its firmware.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TrySendError, channel, sync_channel};
use std::thread::{self, JoinHandle};

use super::health::ROUND;

/// A thread that runs the same query once a round, in the network namespace in which it was
/// started. It ends when this value is dropped.
#[derive(Debug)]
pub(super) struct Poller<T> {
    answers: Receiver<T>,
    /// Never used to send; the thread ends when it is dropped.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Poller<T> {
    /// Starts the thread.
    pub(super) fn start(mut query: impl FnMut() -> T + Send + 'static) -> io::Result<Self> {
        // If an answer has not been taken yet, the next one is dropped: there will be others.
        let (sender, answers) = sync_channel(1);
        let (end, ended) = channel::<()>();
        let serve = move || {
            while ended.recv_timeout(ROUND) == Err(RecvTimeoutError::Timeout) {
                if let Err(TrySendError::Disconnected(_)) = sender.try_send(query()) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("poller".to_owned()).spawn(serve)?;
        Ok(Self { answers, end: Some(end), thread: Some(thread) })
    }

    /// An answer that was not taken before, if there is one.
    pub(super) fn latest(&self) -> Option<T> {
        self.answers.try_recv().ok()
    }
}

impl<T> Drop for Poller<T> {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_query_does_not_block_the_caller_and_its_answer_is_returned_once() {
        let (answer, kernel) = channel();
        let poller = Poller::start(move || kernel.recv().unwrap_or(0)).expect("a thread");
        assert_eq!(poller.latest(), None, "the kernel has not answered yet");
        answer.send(7).expect("it asks");
        let first = std::iter::repeat_with(|| poller.latest()).flatten().next();
        assert_eq!((first, poller.latest()), (Some(7), None));
        // Otherwise dropping the poller would wait for another answer.
        drop(answer);
    }
}
