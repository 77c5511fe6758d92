//! Files before they are parsed.

use std::io::{self, Read as _};
use std::path::Path;

use lasthop_config::Files;

use super::error::{DataFileError, Problem};

/// The longest file that is read, in octets: of the data file and of each file beside it.
pub const LONGEST_FILE: u64 = 64 << 20;

pub(super) fn octets_of(files: &dyn Files, path: &Path) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    files.open(path)?.take(LONGEST_FILE + 1).read_to_end(&mut octets)?;
    if octets.len() as u64 > LONGEST_FILE {
        return Err(io::Error::other(format!("longer than {LONGEST_FILE} octets")));
    }
    Ok(octets)
}

pub(super) fn text_of<'a>(octets: &'a [u8], name: &str) -> Result<&'a str, DataFileError> {
    str::from_utf8(octets).map_err(|error| {
        let line = octets[..error.valid_up_to()].split(|octet| *octet == b'\n').count();
        Problem::new(line, "", "not valid UTF-8; expected a text file").in_file(name)
    })
}
