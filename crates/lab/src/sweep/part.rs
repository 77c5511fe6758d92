//! The results of a sweep in progress, in a file beside that of the final results. However the
//! sweep ends, the runs in this file are not lost.
//!
//! The first line has the inputs of the sweep as JSON. The rest is always CSV; files of other
//! formats are made from it at the end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use csv::StringRecord;
use lasthop_config::words::counted;
use lasthop_scenario::file::sweep::Inputs;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::columns::header;
use super::grid::Grid;

/// The inputs of a sweep. Sweeps of equal origins have equal results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The version of the program.
    pub lasthop: String,
    /// The schemes that the command line names; empty for the sweep's.
    pub schemes: Vec<String>,
    /// The number of seeds on the command line.
    pub seeds: Option<u64>,
    /// Files and settings.
    pub inputs: Inputs,
}

impl Origin {
    fn difference(&self, other: &Self) -> Option<String> {
        let Self { lasthop, schemes, seeds, inputs } = self;
        match () {
            () if *lasthop != other.lasthop => Some(format!("the version of lasthop ({lasthop})")),
            () if *schemes != other.schemes => Some("--schemes".to_owned()),
            () if *seeds != other.seeds => Some("--seeds".to_owned()),
            () => inputs.difference(&other.inputs),
        }
    }
}

/// The file of the results so far. Dropping it does not remove the file.
#[derive(Debug)]
pub struct Part {
    path: PathBuf,
    file: File,
    /// Offset of the CSV in the file.
    start: u64,
    /// Offset of the end of the last complete run.
    end: u64,
    runs: usize,
}

impl Part {
    /// Creates a file. All errors name it; an existing file is not changed.
    pub fn begin<E>(path: &Path, origin: &Origin, grid: &Grid<'_, E>) -> io::Result<Self> {
        let failed = |error: io::Error| cannot("write", path, &error);
        // A start that failed before its first line leaves an empty file, which has no results.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        lock(&file, path)?;
        if file.metadata().map_err(failed)?.len() > 0 {
            let problem = "has the results of a sweep that did not end; --resume continues it; to begin \
                           again, remove this file";
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{} {problem}", path.display()),
            ));
        }
        let mut first = serde_json::to_vec(origin)?;
        first.push(b'\n');
        let start = first.len() as u64;
        first.extend(header(&grid.columns()));
        if let Err(error) = file.write_all(&first) {
            let _ = fs::remove_file(path);
            return Err(failed(error));
        }
        Ok(Self { path: path.to_owned(), file, start, end: first.len() as u64, runs: 0 })
    }

    /// Opens the file of a sweep of the same origin, and truncates an incomplete run; `None` if the
    /// file does not exist. All errors name the file, and leave it unchanged.
    pub fn resume<E>(path: &Path, origin: &Origin, grid: &Grid<'_, E>) -> io::Result<Option<Self>> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| cannot("open", path, &error))?,
        };
        lock(&file, path)?;
        if file.metadata()?.len() == 0 {
            return Ok(None);
        }
        let refuse = |problem: String| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {problem}", path.display()))
        };
        let mut reader = BufReader::new(&file);
        let mut first = Vec::new();
        // A first line has a few kilobytes; a wrong file may be one line of gigabytes.
        reader.by_ref().take(1 << 24).read_until(b'\n', &mut first)?;
        let theirs: Origin = serde_json::from_slice(&first)
            .map_err(|_| refuse("not the results of a sweep; remove or rename this file".to_owned()))?;
        if let Some(difference) = theirs.difference(origin) {
            return Err(refuse(format!(
                "these results differ from this sweep in {difference}; repeat the command that began them, or \
                 remove this file to begin again"
            )));
        }
        let start = first.len() as u64;
        let header = header(&grid.columns());
        let mut theirs = vec![0; header.len()];
        if reader.read_exact(&mut theirs).is_err() || theirs != header {
            return Err(refuse(
                "the columns are not those of this sweep; remove this file to begin again".to_owned(),
            ));
        }
        let csv_from = start + header.len() as u64;
        let (runs, octets) = whole_runs(reader, file.metadata()?.len() - csv_from, grid).map_err(refuse)?;
        let mut part = Self { path: path.to_owned(), file, start, end: csv_from + octets, runs };
        part.file
            .set_len(part.end)
            .and_then(|()| part.file.seek(SeekFrom::End(0)))
            .map_err(|error| part.cannot_write(&error))?;
        Ok(Some(part))
    }

    /// Adds the lines of the next run.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.write_all(lines).map_err(|error| self.cannot_write(&error))?;
        self.end += lines.len() as u64;
        self.runs += 1;
        Ok(())
    }

    /// The number of complete runs.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The results as CSV, with a header.
    pub fn rows(&self) -> io::Result<impl Read + use<>> {
        // The same file, even if the path now names another one; nothing more is appended to it.
        let mut file = self.file.try_clone().map_err(|error| cannot("read", &self.path, &error))?;
        file.seek(SeekFrom::Start(self.start))?;
        Ok(BufReader::new(file.take(self.end - self.start)))
    }

    /// Keeps the file after an interrupted sweep, but removes it if it has no complete run.
    pub fn keep(&self) {
        let _ = if self.runs == 0 { fs::remove_file(&self.path) } else { self.file.set_len(self.end) };
    }

    /// Removes the file after its results have been written elsewhere.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path).map_err(|error| cannot("remove", &self.path, &error))
    }

    fn cannot_write(&self, error: &io::Error) -> io::Error {
        cannot("write", &self.path, error)
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
}

/// Locks the file: two processes that write one file would mix their lines.
fn lock(file: &File, path: &Path) -> io::Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            let problem = "another process is writing these results";
            Err(io::Error::new(io::ErrorKind::WouldBlock, format!("{}: {problem}", path.display())))
        }
        // Not every file system has locks.
        _ => Ok(()),
    }
}

/// The number of complete runs of the grid in the lines, which have this many octets, and the
/// offset of the end of the last one. Only the last line may be incomplete.
fn whole_runs<E>(lines: impl Read, octets: u64, grid: &Grid<'_, E>) -> Result<(usize, u64), String> {
    let width = grid.columns().len();
    let mut ends_line = EndsLine { lines, has_line_end: true };
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&mut ends_line);
    let mut record = StringRecord::new();
    let mut whole = (0, 0);
    let mut whole_before_last = whole;
    // The first two lines are the origin and the header.
    let mut line = 2;
    'runs: for run in grid.all() {
        for key in grid.keys(&run) {
            line += 1;
            let is_there = reader.read_record(&mut record);
            let at_end = reader.position().byte() >= octets;
            match is_there {
                Ok(false) => break 'runs,
                Ok(true)
                    if record.len() == width && record.iter().zip(&key).all(|(ours, key)| ours == key) => {}
                // An incomplete line, zeros after a loss of power, or half a character.
                Ok(true) | Err(_) if at_end && record.len() != width => break 'runs,
                Ok(true) | Err(_) => {
                    return Err(format!(
                        "line {line}: expected {} fields that begin with {}; remove this file to begin again",
                        width,
                        key.join(", ")
                    ));
                }
            }
        }
        whole_before_last = whole;
        whole = (whole.0 + 1, reader.position().byte());
    }
    let position = reader.position().byte();
    if whole.0 == grid.runs() && position < octets {
        return Err(format!(
            "more than {}; remove this file to begin again",
            counted(grid.runs() as u64, "run")
        ));
    }
    drop(reader);
    // A last line without a line end may lack more octets.
    Ok(if whole.1 == octets && !ends_line.has_line_end { whole_before_last } else { whole })
}

/// A reader that knows whether the octets so far end with a line end.
struct EndsLine<R> {
    lines: R,
    has_line_end: bool,
}

impl<R: Read> Read for EndsLine<R> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        let read = self.lines.read(octets)?;
        if let Some(last) = octets[..read].last() {
            self.has_line_end = *last == b'\n';
        }
        Ok(read)
    }
}
