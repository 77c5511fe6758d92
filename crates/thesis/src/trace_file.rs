//! A file of results that is open only while it is written.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use lasthop_linux::results::{Earlier, ResultPath};

/// Octets after which the buffer is written to the file.
const BUFFER: usize = 16 * 1024;

/// A buffer of lines for a file. The file is open only while the buffer is written, because there
/// are several files per node. Without lines no file is made.
#[derive(Debug)]
pub(super) struct TraceFile {
    place: ResultPath,
    buffer: Vec<u8>,
    error: Option<io::Error>,
}

impl TraceFile {
    /// A buffer for the file with this path, which must not be one of `inputs`.
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

    /// Moves the file to its final name.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.place.finish()
    }
}
