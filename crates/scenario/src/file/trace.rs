//! Measured traces of capacity: each is read once, however many links follow it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lasthop_sim::CapacityTrace;

use super::text::read_text;

/// A trace longer than this is refused before it fills the memory: an hour at 100 Mbit/s takes
/// less.
pub(super) const LARGEST_TRACE: u64 = 256 << 20;

/// The capacity traces read so far.
#[derive(Default)]
pub(super) struct Traces(Mutex<BTreeMap<PathBuf, Arc<CapacityTrace>>>);

impl Traces {
    /// The trace in this file. The error names the file and its line.
    pub(super) fn get(&self, path: &Path) -> Result<Arc<CapacityTrace>, String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(trace) = known.get(path) {
            return Ok(Arc::clone(trace));
        }
        let text = read_text(path, LARGEST_TRACE).map_err(|error| error.to_string())?;
        let trace = CapacityTrace::parse(&text)
            .map(Arc::new)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        known.insert(path.to_owned(), Arc::clone(&trace));
        Ok(trace)
    }

    /// Where they were read.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}
