//! A file that is written piece by piece and appears under its name only when it is complete.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is held back before it is written.
const BUFFER: usize = 16 * 1024;

/// Lines on their way to a file. It is open only while a buffer is being written: there are several a node, and any number of
/// nodes. Without a line there is no file.
#[derive(Debug)]
pub(super) struct TraceFile {
    path: PathBuf,
    buffer: Vec<u8>,
    /// Where the lines stand until the file is complete, once there are some.
    part: Option<PathBuf>,
    error: Option<io::Error>,
}

impl TraceFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, buffer: Vec::new(), part: None, error: None }
    }

    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        if self.error.is_some() {
            return;
        }
        let written = writeln!(self.buffer, "{line}");
        let written =
            written.and_then(|()| if self.buffer.len() < BUFFER { Ok(()) } else { self.write_out() });
        self.error = written.err();
    }

    fn write_out(&mut self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        match &self.part {
            Some(_) => options.append(true),
            None => options.write(true).create(true).truncate(true),
        };
        let part = self.part.get_or_insert_with(|| part_of(&self.path));
        options.open(part)?.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Gives the file its name, or tells the first error.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let finished = match self.error.take() {
            Some(error) => Err(error),
            None if self.buffer.is_empty() => Ok(()),
            None => self.write_out(),
        };
        let finished = finished.and_then(|()| match &self.part {
            Some(part) => fs::rename(part, &self.path).map(|()| self.part = None),
            None => Ok(()),
        });
        finished.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", self.path.display())))
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // Nobody finished it. That it cannot even be removed is no news worth a panic.
            let _ = fs::remove_file(part);
        }
    }
}

fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}
