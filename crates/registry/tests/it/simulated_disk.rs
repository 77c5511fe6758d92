//! A disk that stops at any of its operations, and then loses what was not synchronized.

use std::io;
use std::sync::{Arc, Mutex};

use lasthop_packet::Rng;
use lasthop_registry::embedded::Disk;

/// A disk. Clones are the same disk: one is the registry's, the other the test's.
#[derive(Clone)]
pub struct SimulatedDisk(Arc<Mutex<Platter>>);

struct Platter {
    files: Vec<File>,
    /// The file of the durable name, and of later ones.
    names: Vec<Option<usize>>,
    /// The file, and its successor.
    current: Option<usize>,
    successor: Option<usize>,
    /// The operations until the disk stops.
    left: u64,
    stopped: bool,
    lie: Option<Lie>,
    rng: Rng,
}

#[derive(Default)]
struct File {
    durable: Vec<u8>,
    /// What is not durable, after `durable`.
    pending: Vec<u8>,
}

/// How the machine stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The process ends: the system has all that was written.
    Process,
    /// Power is lost.
    Power,
}

/// A synchronization that does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    File,
    Successor,
    Folder,
}

impl SimulatedDisk {
    pub fn new(seed: u64, lie: Option<Lie>) -> Self {
        Self(Arc::new(Mutex::new(Platter {
            files: Vec::new(),
            names: vec![None],
            current: None,
            successor: None,
            left: u64::MAX,
            stopped: false,
            lie,
            rng: Rng::named(seed, "disk"),
        })))
    }

    /// A disk with this file.
    pub fn with_file(octets: &[u8]) -> Self {
        let disk = Self::new(0, None);
        disk.with(|platter| {
            platter.files.push(File { durable: octets.to_vec(), pending: Vec::new() });
            platter.names = vec![Some(0)];
            platter.current = Some(0);
        });
        disk
    }

    /// The disk stops in the operation after this number of them.
    pub fn stop_after(&self, operations: u64) {
        self.with(|platter| platter.left = operations);
    }

    pub fn has_stopped(&self) -> bool {
        self.with(|platter| platter.stopped)
    }

    /// The machine starts again.
    pub fn restart(&self, stop: Stop) {
        self.with(|platter| platter.restart(stop));
    }

    /// The content of the file.
    pub fn content(&self) -> Vec<u8> {
        self.with(|platter| platter.content().expect("a file"))
    }

    fn with<T>(&self, action: impl FnOnce(&mut Platter) -> T) -> T {
        action(&mut self.0.lock().expect("no panic"))
    }
}

impl Platter {
    /// Begins an operation. Returns how much of it happens before the disk stops: 0 to 1, or all.
    fn begin(&mut self) -> io::Result<Option<f64>> {
        if self.stopped {
            return Err(stopped());
        }
        if self.left == 0 {
            self.stopped = true;
            return Ok(Some(self.rng.uniform()));
        }
        self.left -= 1;
        Ok(None)
    }

    fn write(&mut self, file: usize, octets: &[u8], part: Option<f64>) -> io::Result<()> {
        let length = part.map_or(octets.len(), |part| (octets.len() as f64 * part) as usize);
        self.files[file].pending.extend(&octets[..length]);
        ended(part)
    }

    fn sync(&mut self, file: usize, is_lie: bool) -> io::Result<()> {
        let part = self.begin()?;
        if !is_lie && part.is_none_or(|part| part > 0.5) {
            let file = &mut self.files[file];
            file.durable.append(&mut file.pending);
        }
        ended(part)
    }

    fn restart(&mut self, stop: Stop) {
        let name = match stop {
            Stop::Process => self.names.last().copied().flatten(),
            Stop::Power => self.names[self.rng.below(self.names.len() as u64) as usize],
        };
        for file in &mut self.files {
            let mut pending = std::mem::take(&mut file.pending);
            if stop == Stop::Power {
                pending.truncate(self.rng.below(pending.len() as u64 + 1) as usize);
                // The file has its length, but not all of its blocks.
                if self.rng.below(2) == 0 && !pending.is_empty() {
                    let from = self.rng.below(pending.len() as u64) as usize;
                    let to = from + 1 + self.rng.below((pending.len() - from) as u64) as usize;
                    pending[from..to].fill(0);
                }
            }
            file.durable.append(&mut pending);
        }
        self.names = vec![name];
        (self.current, self.successor) = (name, None);
        (self.left, self.stopped) = (u64::MAX, false);
    }

    fn content(&self) -> Option<Vec<u8>> {
        let file = &self.files[self.current?];
        Some([&*file.durable, &*file.pending].concat())
    }
}

fn stopped() -> io::Error {
    io::Error::other("the disk has stopped")
}

fn ended(part: Option<f64>) -> io::Result<()> {
    part.map_or(Ok(()), |_| Err(stopped()))
}

impl Disk for SimulatedDisk {
    fn load(&mut self, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let content = self.with(|platter| platter.content());
        assert!(content.as_ref().is_none_or(|content| content.len() as u64 <= limit), "it is too large");
        Ok(content)
    }

    fn append(&mut self, octets: &[u8]) -> io::Result<()> {
        self.with(|platter| {
            let file = platter.current.expect("a file");
            let part = platter.begin()?;
            platter.write(file, octets, part)
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.with(|platter| {
            let file = platter.current.expect("a file");
            platter.sync(file, platter.lie == Some(Lie::File))
        })
    }

    fn create_successor(&mut self, octets: &[u8]) -> io::Result<()> {
        self.with(|platter| {
            let part = platter.begin()?;
            platter.files.push(File::default());
            let file = platter.files.len() - 1;
            platter.successor = Some(file);
            platter.write(file, octets, part)
        })
    }

    fn sync_successor(&mut self) -> io::Result<()> {
        self.with(|platter| {
            let file = platter.successor.expect("a successor");
            platter.sync(file, platter.lie == Some(Lie::Successor))
        })
    }

    fn rename_successor(&mut self) -> io::Result<()> {
        self.with(|platter| {
            let part = platter.begin()?;
            let file = platter.successor.take().expect("a successor");
            if part.is_none_or(|part| part > 0.5) {
                platter.names.push(Some(file));
                platter.current = Some(file);
            }
            ended(part)
        })
    }

    fn sync_folder(&mut self) -> io::Result<()> {
        self.with(|platter| {
            let part = platter.begin()?;
            if platter.lie != Some(Lie::Folder) && part.is_none_or(|part| part > 0.5) {
                platter.names.drain(..platter.names.len() - 1);
            }
            ended(part)
        })
    }
}
