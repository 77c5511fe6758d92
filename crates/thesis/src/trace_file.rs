//! A file of results that is open only now and then.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use lasthop_linux::results::{Earlier, ResultPath};

/// Octets that are collected before they are written.
const BUFFER: usize = 16 * 1024;

/// Lines on their way to a file. It is open only while a buffer is being written: there are several
/// a node, and any number of nodes. Without a line there is no file.
#[derive(Debug)]
pub(super) struct TraceFile {
    place: ResultPath,
    buffer: Vec<u8>,
    error: Option<io::Error>,
}

impl TraceFile {
    /// Lines for a file of this name; `inputs` are files that it must not be.
    pub(super) fn new(path: &Path, inputs: &[PathBuf], earlier: Earlier) -> io::Result<Self> {
        Ok(Self { place: ResultPath::new(path, inputs, earlier)?, buffer: Vec::new(), error: None })
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
        let written = self.place.open_again()?.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(|error| self.place.error(&error))
    }

    /// Writes out the buffer, or returns the first error.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.buffer.is_empty() { Ok(()) } else { self.write_out() }
    }

    /// Gives the file its name.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.place.finish()
    }
}
