//! Files that a scenario names, such as measured traces. Each is read once, however many links use
//! it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lasthop_sim::CapacityTrace;
use lasthop_sim::delay::Bands;
use lasthop_sim::wireless::{StateTrace, parse_state_trace};

use super::floor_plan::FloorPlan;
use super::{delay_table, floor_plan};
use lasthop_config::Files;
use lasthop_config::text::read_text;

/// The largest size of a trace, in octets; an hour at 100 Mbit/s takes less. A larger one is
/// refused before it fills the memory.
const LARGEST_TRACE: u64 = 256 << 20;
/// The largest size of a table of delays, in octets.
const LARGEST_DELAY_TABLE: u64 = 1 << 20;
/// The largest size of a floor plan, in octets.
const LARGEST_FLOOR_PLAN: u64 = 1 << 20;

/// The files that have been read so far, and the source of others.
pub(super) struct NamedFiles {
    files: Arc<dyn Files>,
    traces: Contents<CapacityTrace>,
    delay_tables: Contents<Bands>,
    floor_plans: Contents<FloorPlan>,
    state_traces: Contents<StateTrace>,
    further: FurtherFiles,
}

/// The files that may be read in addition to those that have been read already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FurtherFiles {
    /// All, including pipes and devices.
    #[default]
    All,
    /// Regular files, because reading them waits for no other process.
    Regular,
    /// None, because the client may have fewer rights than this process.
    None,
}

/// The parsed contents of files of one kind, with the digests of their texts.
type Contents<T> = Mutex<BTreeMap<PathBuf, (Arc<T>, u64)>>;

impl NamedFiles {
    /// An empty cache of files from this source.
    pub(super) fn new(files: Arc<dyn Files>) -> Self {
        Self {
            files,
            traces: Mutex::default(),
            delay_tables: Mutex::default(),
            floor_plans: Mutex::default(),
            state_traces: Mutex::default(),
            further: FurtherFiles::All,
        }
    }

    /// The capacity trace in this file. The error names the file and its line.
    pub(super) fn trace(&self, path: &Path) -> Result<Arc<CapacityTrace>, String> {
        self.read_once(&self.traces, path, LARGEST_TRACE, CapacityTrace::parse)
    }

    /// The table of delays in this file. The error names the file and its line.
    pub(super) fn delay_table(&self, path: &Path) -> Result<Arc<Bands>, String> {
        self.read_once(&self.delay_tables, path, LARGEST_DELAY_TABLE, delay_table::parse)
    }

    /// The floor plan in this file. The error names the file and its line.
    pub(super) fn floor_plan(&self, path: &Path) -> Result<Arc<FloorPlan>, String> {
        self.read_once(&self.floor_plans, path, LARGEST_FLOOR_PLAN, floor_plan::parse)
    }

    /// The states of a channel in this file. The error names the file and its line.
    pub(super) fn state_trace(&self, path: &Path) -> Result<Arc<StateTrace>, String> {
        self.read_once(&self.state_traces, path, LARGEST_TRACE, parse_state_trace)
    }

    /// A copy for another reading of the scenario, without the files that must be read again.
    pub(super) fn without(&self, is_to_be_read: impl Fn(&Path) -> bool, further: FurtherFiles) -> Self {
        Self {
            files: Arc::clone(&self.files),
            traces: others(&self.traces, &is_to_be_read),
            delay_tables: others(&self.delay_tables, &is_to_be_read),
            floor_plans: others(&self.floor_plans, &is_to_be_read),
            state_traces: others(&self.state_traces, &is_to_be_read),
            further,
        }
    }

    /// The paths of the files that have been read.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.digests().into_iter().map(|(path, _)| path).collect()
    }

    /// The same paths, with the digests of the files' texts.
    pub(super) fn digests(&self) -> Vec<(PathBuf, u64)> {
        let digests = [
            digests(&self.traces),
            digests(&self.delay_tables),
            digests(&self.floor_plans),
            digests(&self.state_traces),
        ];
        digests.concat()
    }

    fn read_once<T, E: Display>(
        &self,
        known: &Contents<T>,
        path: &Path,
        largest: u64,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Arc<T>, String> {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((content, _)) = known.get(path) {
            return Ok(Arc::clone(content));
        }
        self.further.check(&*self.files, path)?;
        let text = read_text(&*self.files, path, largest).map_err(|error| error.to_string())?;
        let content = parse(&text).map(Arc::new).map_err(|error| in_file(path, &error.to_string()))?;
        known.insert(path.to_owned(), (Arc::clone(&content), digest(&text)));
        Ok(content)
    }
}

impl FurtherFiles {
    /// Checks whether this file may be read.
    fn check(self, files: &dyn Files, path: &Path) -> Result<(), String> {
        match self {
            Self::All => Ok(()),
            Self::Regular => match files.is_regular(path) {
                Ok(true) => Ok(()),
                Ok(false) => Err(in_file(path, "not a regular file; expected one, not a pipe or a device")),
                Err(error) => Err(in_file(path, &format!("cannot read the file: {error}"))),
            },
            Self::None => Err("only root may name files; use sudo".to_owned()),
        }
    }
}

fn others<T>(known: &Contents<T>, is_to_be_read: impl Fn(&Path) -> bool) -> Contents<T> {
    let known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let others = known.iter().filter(|(path, _)| !is_to_be_read(path));
    Mutex::new(others.map(|(path, content)| (path.clone(), content.clone())).collect())
}

/// An error with the name of its file in front: "line 3: ..." becomes `FILE:3: ...`.
pub(super) fn in_file(path: &Path, error: &str) -> String {
    let colon = if error.starts_with("line ") { ":" } else { ": " };
    format!("{}{colon}{}", path.display(), error.strip_prefix("line ").unwrap_or(error))
}

fn digests<T>(known: &Contents<T>) -> Vec<(PathBuf, u64)> {
    let known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.iter().map(|(path, (_, digest))| (path.clone(), *digest)).collect()
}

/// The 64-bit FNV-1a hash of a text (Fowler, Noll, Vo; RFC 9923): the same on every machine and in
/// every version. It finds changes; it does not withstand an attacker.
pub(super) fn digest(text: &str) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    text.bytes().fold(OFFSET_BASIS, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::digest;

    /// From the test vectors of RFC 9923.
    #[test]
    fn the_digest_is_the_published_one() {
        assert_eq!(digest(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(digest("foobar"), 0x8594_4171_f739_67e8);
    }
}
