//! The programs that a build runs.

use std::env;
use std::ffi::OsStr;
use std::io::Write as _;
use std::process::{Command, Stdio};

use rustix::fs::{Access, access};
use thiserror::Error;

use crate::source::{SOURCES, Source};

/// Programs, and the packages of Debian that have them. Other distributions use the same names, or
/// similar ones. What every system has is not listed (sh, awk, sed, grep, find).
const PROGRAMS: [(&str, &str); 7] = [
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("tar", "tar"),
];

/// Programs that unpack archives, and their packages.
const UNPACKERS: [(&str, &str); 4] =
    [("xz", "xz-utils"), ("gzip", "gzip"), ("bzip2", "bzip2"), ("zstd", "zstd")];

/// What a build needs and this machine has not.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Missing {
    /// Programs, headers or a source.
    #[error(
        "the build of a kernel requires {what}, which this machine does not have; on Debian and Ubuntu: sudo apt install {packages}"
    )]
    Packages {
        /// What is missing, in words.
        what: String,
        /// The packages that have it, with spaces between them.
        packages: String,
    },
    /// Another kind of processor.
    #[error("lasthop builds user-mode kernels for x86_64 only; this machine is {0}")]
    Processor(&'static str),
}

/// Checks that this machine has what a build needs: a source, and the programs.
pub fn check(source: Option<&Source>) -> Result<(), Missing> {
    match env::consts::ARCH {
        "x86_64" => {}
        other => return Err(Missing::Processor(other)),
    }
    let mut missing = programs_missing_in(&env::var_os("PATH").unwrap_or_default(), source);
    if !missing.iter().any(|(what, _)| what == "gcc") && !has_headers() {
        missing.push(("the C library's headers".to_owned(), "libc6-dev"));
    }
    if source.is_none() {
        missing.push((format!("a kernel's source in {SOURCES}"), "linux-source"));
    }
    in_words(&missing)
}

/// The programs that a search path does not have, with their packages.
fn programs_missing_in(path: &OsStr, source: Option<&Source>) -> Vec<(String, &'static str)> {
    let unpacker = source.and_then(Source::unpacker);
    let unpackers = UNPACKERS.into_iter().filter(|(program, _)| Some(*program) == unpacker);
    let is_there = |program: &str| {
        env::split_paths(path)
            .map(|folder| folder.join(program))
            .any(|file| file.is_file() && access(&file, Access::EXEC_OK).is_ok())
    };
    let missing = PROGRAMS.into_iter().chain(unpackers).filter(|(program, _)| !is_there(program));
    missing.map(|(program, package)| (program.to_owned(), package)).collect()
}

/// Whether the compiler finds the headers of the C library.
fn has_headers() -> bool {
    let mut gcc = Command::new("gcc");
    gcc.args(["-fsyntax-only", "-x", "c", "-"]).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut gcc) = gcc.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut input) = gcc.stdin.take() {
        // The compiler's status shows whether it read this.
        let _ = input.write_all(b"#include <stdio.h>\n#include <linux/types.h>\n");
    }
    gcc.wait().is_ok_and(|status| status.success())
}

fn in_words(missing: &[(String, &str)]) -> Result<(), Missing> {
    let what: Vec<&str> = missing.iter().map(|(what, _)| what.as_str()).collect();
    let what = match &what[..] {
        [] => return Ok(()),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    Err(Missing::Packages { what, packages: packages.join(" ") })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use tempfile::TempDir;

    use super::*;

    /// A search path with these programs.
    fn path_with(programs: &[&str]) -> TempDir {
        let folder = TempDir::new().expect("a temporary directory");
        for program in programs {
            let file = folder.path().join(program);
            fs::write(&file, "").expect("a file in it");
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("its owner");
        }
        folder
    }

    #[test]
    fn a_program_that_is_missing_is_named_with_its_package() {
        let path = path_with(&["gcc", "ld", "make", "bison", "tar"]);
        let missing = programs_missing_in(path.path().as_os_str(), None);
        let error = in_words(&missing).expect_err("two are missing").to_string();
        assert!(
            error.contains("requires flex and bc, which") && error.ends_with("apt install flex bc"),
            "{error}"
        );
    }

    #[test]
    fn an_archive_needs_the_program_that_unpacks_it() {
        let path = path_with(&PROGRAMS.map(|(program, _)| program));
        let archive = path.path().join("a.tar.zst");
        fs::write(&archive, "").expect("a file in it");
        let source = Source::at(&archive).expect("an archive");
        let missing = |source| programs_missing_in(path.path().as_os_str(), source);
        assert_eq!(missing(Some(&source)), [("zstd".to_owned(), "zstd")]);
        assert_eq!(missing(None), []);
    }

    #[test]
    fn a_file_that_cannot_be_run_is_not_a_program() {
        let path = path_with(&PROGRAMS.map(|(program, _)| program));
        let file = path.path().join("bc");
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).expect("its owner");
        assert_eq!(programs_missing_in(path.path().as_os_str(), None), [("bc".to_owned(), "bc")]);
    }
}
