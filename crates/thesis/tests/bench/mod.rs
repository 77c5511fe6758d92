//! A run of a data file, with its output.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lasthop_linux::results::Earlier;
use lasthop_packet::Instant;
use lasthop_scenario::SchemeChoice;
use lasthop_sim::FlowOutcome;
use lasthop_tcp::Stats;
use lasthop_thesis::{DataFile, EventKinds};

/// A writer whose contents the test can read.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic while it was locked").extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The results of a run.
pub struct Run {
    events: Vec<String>,
    /// The directory of the traces.
    pub out: TempDir,
    pub outcome: FlowOutcome,
    /// Octets that each flow has delivered.
    pub delivered: Vec<u64>,
}

impl Run {
    /// Runs the data file at this path under this scheme.
    pub fn from_path(path: &Path, scheme: &str) -> Self {
        Self::from_file(&lasthop_thesis::read(path).expect("a good data file"), scheme)
    }

    pub fn from_file(file: &DataFile, scheme: &str) -> Self {
        let scheme = SchemeChoice::new(scheme, toml::Table::new()).expect("a scheme of the catalog");
        let mut built = file.scenario.build(&scheme, 1).expect("what was read can be built");
        let (out, sink) = (TempDir::new(), Shared::default());
        let observers = file
            .observers(&built, Some(out.path()), EventKinds::all(), Box::new(sink.clone()), Earlier::Goes)
            .expect("a writable directory");
        for observer in observers {
            built.world.observe(observer);
        }
        built.world.run(Instant::ZERO + file.scenario.duration, file.scenario.stop_when_done);
        for mut observer in built.world.take_observers() {
            observer.flush().expect("a writable directory");
            observer.finish().expect("a writable directory");
        }
        assert!(built.world.accounts().balance());
        let outcome = built.world.outcome(built.flows[0]);
        assert!(outcome.intact);
        let octets = sink.0.lock().expect("no panic while it was locked");
        let events = str::from_utf8(&octets).expect("text").lines().map(str::to_owned).collect();
        let delivered = built.flows.iter().map(|flow| built.world.outcome(*flow).octets).collect();
        Self { events, out, outcome, delivered }
    }

    /// The statistics of the sending endpoint.
    pub fn sender(&self) -> Stats {
        self.outcome.tcp().expect("a data file's flows are TCP's").sender
    }

    /// The lines of events of these kinds.
    pub fn events(&self, kinds: &str) -> Vec<String> {
        let kinds = EventKinds::named(kinds).expect("kinds of events").names();
        let is_wanted =
            |line: &&String| line.split(' ').nth(1).is_some_and(|kind| kinds.iter().any(|k| k == kind));
        self.events.iter().filter(is_wanted).cloned().collect()
    }

    /// The rows of a trace with two columns from a time on, in ms.
    pub fn trace(&self, name: &str, from: u64) -> Vec<(u64, u64)> {
        let text = std::fs::read_to_string(self.out.path().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let number = |word: &str| word.parse::<u64>().expect("a whole number");
        let rows = text.lines().map(|line| line.split_once(' ').expect("two columns"));
        rows.map(|(ms, value)| (number(ms), number(value))).filter(|(ms, _)| *ms >= from).collect()
    }
}

/// A directory that is removed on drop.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new() -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("lasthop-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a writable directory for temporary files");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Adds a file.
    pub fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.0.join(name), text).expect("a writable directory");
        self
    }

    /// The files in it, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("a readable directory");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
