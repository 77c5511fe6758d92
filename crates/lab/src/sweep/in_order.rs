//! Writes the results of runs, which end in any order, in the order of the runs.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Octets of texts in memory above which a thread waits with its text.
const MAX_WAITING: usize = 64 << 20;

/// Writes texts in the order of their indices.
pub(super) struct InOrder<W, E> {
    state: Mutex<State<W, E>>,
    changed: Condvar,
}

struct State<W, E> {
    /// The index of the text to write next.
    next: usize,
    waiting: BTreeMap<usize, Vec<u8>>,
    /// The octets of `waiting`.
    octets: usize,
    write: W,
    error: Option<E>,
    has_stopped: bool,
}

impl<W: FnMut(&[u8]) -> Result<(), E>, E> InOrder<W, E> {
    /// A writer whose first text has the index `next`.
    pub(super) fn new(next: usize, write: W) -> Self {
        let waiting = BTreeMap::new();
        let state = State { next, waiting, octets: 0, write, error: None, has_stopped: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds a text, and writes all texts whose predecessors are written. An error of the text or in
    /// writing stops everything; `Err` says that everything has stopped.
    pub(super) fn put(&self, index: usize, text: Result<Vec<u8>, E>) -> Result<(), ()> {
        let mut state = self.lock();
        // The thread with the next text never waits: there is no deadlock.
        while !state.has_stopped && index != state.next && state.octets > MAX_WAITING {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let written = text.and_then(|text| state.add(index, text));
        self.changed.notify_all();
        if let Err(error) = written {
            state.error.get_or_insert(error);
            state.has_stopped = true;
        }
        if state.has_stopped { Err(()) } else { Ok(()) }
    }

    /// The error that stopped everything, if any.
    pub(super) fn end(self) -> Result<(), E> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.error.map_or(Ok(()), Err)
    }
}

impl<W, E> InOrder<W, E> {
    /// Stops everything if the thread panics while it has the returned guard: its text would be
    /// missing.
    pub(super) fn stop_on_panic(&self) -> StopOnPanic<'_, W, E> {
        StopOnPanic(self)
    }

    fn lock(&self) -> MutexGuard<'_, State<W, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: FnMut(&[u8]) -> Result<(), E>, E> State<W, E> {
    fn add(&mut self, index: usize, text: Vec<u8>) -> Result<(), E> {
        if self.has_stopped {
            return Ok(());
        }
        self.octets += text.len();
        self.waiting.insert(index, text);
        while let Some(text) = self.waiting.remove(&self.next) {
            self.octets -= text.len();
            self.next += 1;
            (self.write)(&text)?;
        }
        Ok(())
    }
}

pub(super) struct StopOnPanic<'a, W, E>(&'a InOrder<W, E>);

impl<W, E> Drop for StopOnPanic<'_, W, E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().has_stopped = true;
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn texts_are_written_in_the_order_of_their_indices() {
        let mut out = Vec::new();
        let lines = InOrder::new(1, |text: &[u8]| -> Result<(), ()> {
            out.extend_from_slice(text);
            Ok(())
        });
        for (index, text) in [(3, "c"), (2, "b"), (5, "e"), (1, "a"), (4, "d")] {
            lines.put(index, Ok(text.into())).expect("memory");
        }
        lines.end().expect("memory");
        assert_eq!(out, b"abcde");
    }

    #[test]
    fn a_later_text_waits_while_the_buffer_is_full() {
        let (written, order) = mpsc::channel();
        let lines =
            InOrder::new(0, |text: &[u8]| -> Result<(), ()> { written.send(text.len()).map_err(|_| ()) });
        let lines = &lines;
        lines.put(1, Ok(vec![0; MAX_WAITING + 1])).expect("the first that is too much is taken");
        std::thread::scope(|scope| {
            let [(begun, begins), (returned, returns)] = [mpsc::channel(), mpsc::channel()];
            let late = scope.spawn(move || {
                // The test may have failed meanwhile; its own thread reports that.
                let _ = begun.send(());
                let put = lines.put(2, Ok(vec![0; 2]));
                let _ = returned.send(());
                put
            });
            begins.recv().expect("the thread has begun");
            let early = returns.recv_timeout(Duration::from_millis(100));
            assert_eq!(early, Err(mpsc::RecvTimeoutError::Timeout), "it has to wait");
            assert_eq!(lines.lock().waiting.len(), 1);
            lines.put(0, Ok(vec![0; 1])).expect("its turn");
            late.join().expect("no panic").expect("its turn has come");
        });
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [1, MAX_WAITING + 1, 2]);
    }

    #[test]
    fn a_panic_ends_the_waiting_of_other_threads() {
        let lines = InOrder::new(0, |_: &[u8]| -> Result<(), ()> { Ok(()) });
        lines.put(1, Ok(vec![0; MAX_WAITING + 1])).expect("the first that is too much is taken");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| lines.put(2, Ok(vec![0])));
            let panics = scope.spawn(|| {
                let _stop = lines.stop_on_panic();
                panic!("a wrong octet");
            });
            panics.join().expect_err("it panicked");
            assert_eq!(waits.join().expect("no panic"), Err(()));
        });
    }
}
