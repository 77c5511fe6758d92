//! The text of a file before it is parsed: reading, and lines.

use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::error::FileError;
use crate::files::{Files, STANDARD_INPUT};
use crate::words::{did_you_mean, similar};

/// The name of a file in messages.
pub fn name_of(path: &Path) -> String {
    match path.to_str() {
        Some(STANDARD_INPUT) => "standard input".to_owned(),
        _ => path.display().to_string(),
    }
}

/// Reads a configuration file of at most 16 MiB.
pub fn read_file(files: &dyn Files, path: &Path) -> Result<String, FileError> {
    if path.extension().is_some_and(|extension| extension == "dat") {
        let problem = "this is a data file of the 1997 thesis's simulator, for `lasthop run` or `compare`; expected a file in TOML";
        return Err(FileError::in_file(name_of(path), problem));
    }
    read_text(files, path, 16 << 20)
}

/// Reads a text file of at most `largest` octets.
pub fn read_text(files: &dyn Files, path: &Path, largest: u64) -> Result<String, FileError> {
    let error = |problem: String| FileError::in_file(name_of(path), problem);
    let cannot = |problem: io::Error| {
        let meant = did_you_mean_file(files, path, &problem);
        error(format!("cannot read the file: {problem}{meant}"))
    };
    let mut octets = Vec::new();
    let source = files.open(path).map_err(cannot)?;
    // One octet more than allowed distinguishes a file that is too long from one that just fits.
    source.take(largest + 1).read_to_end(&mut octets).map_err(cannot)?;
    if octets.len() as u64 > largest {
        return Err(error(format!("the file is longer than {} MiB", largest >> 20)));
    }
    if let Some(problem) = compressed(&octets) {
        return Err(error(problem));
    }
    String::from_utf8(octets).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = line_at(error.as_bytes(), good);
        FileError {
            line: Some(line),
            ..FileError::in_file(name_of(path), "not valid UTF-8; expected a text file")
        }
    })
}

/// The addition to an error about a file that does not exist, such as
/// ` (did you mean "hop.toml"?)`; empty for other errors, or if no file beside it has a similar
/// name.
pub fn did_you_mean_file(files: &dyn Files, path: &Path, problem: &io::Error) -> String {
    let meant = if problem.kind() == ErrorKind::NotFound { similar_file(files, path) } else { None };
    meant.map(|meant| format!(" (did you mean {:?}?)", meant.display().to_string())).unwrap_or_default()
}

/// As `did_you_mean` for one of these words; if none is similar, as
/// [`did_you_mean_file`] for a file that does not exist.
pub fn did_you_mean_word_or_file(files: &dyn Files, path: &Path, words: &[&str]) -> String {
    let meant = did_you_mean(&path.to_string_lossy(), words);
    if meant.is_empty() { did_you_mean_file(files, path, &ErrorKind::NotFound.into()) } else { meant }
}

/// The file that was probably meant: one with the same name and a similar extension or `toml`, which
/// what people write has and results have not; or one with a similar name and the same extension.
fn similar_file(files: &dyn Files, path: &Path) -> Option<PathBuf> {
    let (stem, extension) = stem_and_extension(path.file_name()?.to_str()?);
    let beside = files.names_beside(path);
    let parts: Vec<(&str, &str)> = beside.iter().map(|name| stem_and_extension(name)).collect();
    let is_written = |kind: &str| kind == "toml" || similar(extension, &[kind]).is_some();
    let same = parts.iter().position(|(other, kind)| *other == stem && !stem.is_empty() && is_written(kind));
    let index = same.or_else(|| {
        let is_of_kind = |other: &str| extension.is_empty() || other == extension;
        let of_kind = parts.iter().filter(|(_, other)| is_of_kind(other)).map(|(stem, _)| *stem);
        let meant = similar(stem, &of_kind.collect::<Vec<_>>())?;
        parts.iter().position(|(stem, other)| *stem == meant && is_of_kind(other))
    })?;
    Some(path.with_file_name(&beside[index]))
}

fn stem_and_extension(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((name, ""))
}

/// The message about a compressed file, by its first octets.
fn compressed(octets: &[u8]) -> Option<String> {
    const FORMATS: [(&[u8], &str, &str); 4] = [
        (b"\x1f\x8b", "gzip", "gunzip -k"),
        (b"\xfd7zXZ\0", "xz", "unxz -k"),
        (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
        (b"PK\x03\x04", "zip", "unzip"),
    ];
    let (_, name, tool) = FORMATS.iter().find(|(magic, ..)| octets.starts_with(magic))?;
    Some(format!("compressed with {name}; expected a text file, as `{tool}` makes it"))
}

/// The line, from 1, of an octet.
pub(crate) fn line_at(text: &[u8], offset: usize) -> usize {
    text.iter().take(offset).filter(|octet| **octet == b'\n').count() + 1
}

/// The key at a syntax error, from the text itself, because there is no document yet.
pub(crate) fn key_in_text(text: &str, offset: usize) -> String {
    let known = |key: &str| {
        let key = key.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.\"' ".contains(c);
        (!key.is_empty() && key.len() <= 200 && key.chars().all(plain)).then(|| key.to_owned())
    };
    let header =
        |line: &str| known(line.trim().trim_start_matches('[').split(']').next().unwrap_or_default());
    let start = text.as_bytes().iter().take(offset).rposition(|octet| *octet == b'\n').map_or(0, |at| at + 1);
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    if line.trim_start().starts_with('[') {
        return header(line).unwrap_or_default();
    }
    let table = text.get(..start).unwrap_or_default();
    let table = table.lines().rev().find(|line| line.trim_start().starts_with('[')).and_then(header);
    let key = line.split_once('=').and_then(|(key, _)| known(key));
    [table, key].into_iter().flatten().collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::InMemory;

    #[test]
    fn a_missing_file_is_reported_with_the_one_that_was_probably_meant() {
        let names = ["a/hop.toml", "a/hop.trace", "a/first-look.toml", "a/x.toml", "b.toml"];
        let files = InMemory::from_iter(names.map(|name| (name, "")));
        for (path, meant) in [
            ("a/hopp.toml", Some("a/hop.toml")),
            ("a/hopp.trace", Some("a/hop.trace")),
            ("a/hop.tml", Some("a/hop.toml")),
            ("a/first-look", Some("a/first-look.toml")),
            ("a/frist-look", Some("a/first-look.toml")),
            ("a/y.toml", None),
            ("first-look.toml", None),
            ("c/b.toml", None),
        ] {
            let error = read_text(&files, Path::new(path), 1).expect_err(path).to_string();
            let meant = meant.map(|meant| format!(" (did you mean {meant:?}?)")).unwrap_or_default();
            assert_eq!(error, format!("{path}: cannot read the file: No such file or directory{meant}"));
        }
    }
}
