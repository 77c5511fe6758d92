//! On which processor a guest and its calendar take turns.

use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// A processor that may not be used.
#[derive(Debug, thiserror::Error)]
#[error("processor {processor}: {cause}")]
pub struct ProcessorError {
    /// Its number.
    pub processor: usize,
    /// The system's error.
    pub cause: io::Error,
}

/// The processor on which this thread runs now.
pub fn current() -> usize {
    sched_getcpu()
}

/// A thread that stays on a processor, until this value is dropped on it.
#[derive(Debug)]
pub struct Stay(CpuSet);

impl Stay {
    /// The calling thread stays there.
    pub fn on(processor: usize) -> Result<Self, ProcessorError> {
        let before =
            sched_getaffinity(None).map_err(|error| ProcessorError { processor, cause: error.into() })?;
        set(None, processor)?;
        Ok(Self(before))
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        // It was allowed before.
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// A process, or the calling thread, runs on this processor only.
pub fn set(process: Option<Pid>, processor: usize) -> Result<(), ProcessorError> {
    let error = |cause| ProcessorError { processor, cause };
    if processor >= CpuSet::MAX_CPU {
        return Err(error(io::ErrorKind::InvalidInput.into()));
    }
    let mut only = CpuSet::new();
    only.set(processor);
    sched_setaffinity(process, &only).map_err(|errno| error(errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_on_its_processor_for_as_long_as_it_was_asked() {
        let before = sched_getaffinity(None).expect("a set");
        let here = current();
        let stay = Stay::on(here).expect("it runs there");
        assert_eq!((current(), sched_getaffinity(None).expect("a set").count()), (here, 1));
        drop(stay);
        assert_eq!(sched_getaffinity(None).expect("a set"), before);
        for processor in [CpuSet::MAX_CPU - 1, usize::MAX] {
            let error = Stay::on(processor).expect_err("no machine has as many");
            assert_eq!(error.processor, processor);
        }
    }
}
