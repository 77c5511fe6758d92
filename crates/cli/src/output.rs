//! All output of the command to standard output and standard error.
//!
//! Texts may contain names that other users have chosen, of files, interfaces or processes. Control
//! characters in them are replaced, so that a terminal does not interpret them.

use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use lasthop_config::words::{printable, printable_lines};
use lasthop_gateway::pseudonyms::Pseudonyms;
use serde::Serialize;

use crate::failure::Failure;

/// Prints a text and a line end on standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = StandardOutput;
    // In JSON, the replacement of such a character is equivalent to it.
    Ok(out.write_all(format!("{}\n", printable_lines(text)).as_bytes())?)
}

/// Unbuffered standard output.
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

/// An error of standard output. The message names the output, which the system's message (such as
/// that of a full disk) does not.
pub fn failed(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write standard output: {error}"))
}

/// Prints a JSON document on standard output.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Run(error.into()))?;
    print(&text)
}

/// Prints a line on standard error. An error is ignored: the exit code still reports the failure.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(text));
}

/// Prints the message of a failure, and returns its exit code.
pub fn report(failure: &Failure) -> ExitCode {
    if let Some(message) = failure.message() {
        complain(&format!("lasthop: {message}"));
    }
    failure.exit_code()
}

/// Standard error for a log. Each event is a single write of one line.
pub struct Log {
    /// The names of clients in it, if these are not their MAC addresses.
    pub pseudonyms: Option<Arc<Pseudonyms>>,
}

impl Write for Log {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = match &self.pseudonyms {
            Some(names) => Cow::Owned(names.without_mac_addresses(line)),
            None => Cow::Borrowed(line),
        };
        io::stderr().write_all(format!("{}\n", printable(&line)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
