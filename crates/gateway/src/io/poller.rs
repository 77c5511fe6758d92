//! Questions to the kernel that the packet loop cannot wait for.
//!
//! The kernel keeps the network's configuration under one lock (RTNL). A question about it waits while another
//! process changes something, for example while a driver loads its firmware.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TrySendError, channel, sync_channel};
use std::thread::{self, JoinHandle};

use super::health::ROUND;

/// A thread that asks the same question once a round, in the network namespace in which it was started. It
/// ends when this value is dropped.
#[derive(Debug)]
pub(super) struct Poller<T> {
    answers: Receiver<T>,
    /// Nothing is ever sent. The thread ends when this is dropped.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Poller<T> {
    /// Starts the thread.
    pub(super) fn start(mut ask: impl FnMut() -> T + Send + 'static) -> io::Result<Self> {
        // An answer that was not taken yet stays, and the next one is dropped: there will be others.
        let (tell, answers) = sync_channel(1);
        let (end, ended) = channel::<()>();
        let serve = move || {
            while ended.recv_timeout(ROUND) == Err(RecvTimeoutError::Timeout) {
                if let Err(TrySendError::Disconnected(_)) = tell.try_send(ask()) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("poller".to_owned()).spawn(serve)?;
        Ok(Self { answers, end: Some(end), thread: Some(thread) })
    }

    /// The answer to a question, if there is one that was not taken before.
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
    fn an_answer_that_takes_long_delays_no_caller_and_is_given_once() {
        let (answer, kernel) = channel();
        let poller = Poller::start(move || kernel.recv().unwrap_or(0)).expect("a thread");
        assert_eq!(poller.latest(), None, "the kernel has not answered yet");
        answer.send(7).expect("it asks");
        let first = std::iter::repeat_with(|| poller.latest()).flatten().next();
        assert_eq!((first, poller.latest()), (Some(7), None));
        // Or its end would wait for another answer.
        drop(answer);
    }
}
