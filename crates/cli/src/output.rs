//! Standard output and standard error: the only places where the command prints.
//!
//! Texts contain names that others have chosen: of files, interfaces, processes. No character of theirs
//! reaches a terminal that would obey it.

use std::io::{self, Write};
use std::process::ExitCode;

use lasthop_config::words::{printable, printable_lines};
use serde::Serialize;

use crate::failure::Failure;

/// Prints a text and a line end on standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = StandardOutput;
    // What stands in JSON for such a character is the same.
    Ok(out.write_all(format!("{}\n", printable_lines(text)).as_bytes())?)
}

/// Standard output, without a buffer of its own: what is written is there at once.
pub struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let mut out = io::stdout().lock();
        out.write_all(octets).and_then(|()| out.flush()).map_err(|error| failed(&error))?;
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An error of standard output: which output it was is what a full disk does not say.
pub fn failed(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write standard output: {error}"))
}

/// Prints one JSON document on standard output.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Run(error.into()))?;
    print(&text)
}

/// Prints a line on standard error. If even that fails, the exit code remains.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(text));
}

/// Prints why a command failed, and gives the exit code.
pub fn report(failure: &Failure) -> ExitCode {
    if let Some(message) = failure.message() {
        complain(&format!("lasthop: {message}"));
    }
    failure.exit_code()
}

/// Standard error for a log, of which each event is one write and one line.
pub struct Log;

impl Write for Log {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        io::stderr().write_all(format!("{}\n", printable(line)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
