//! What the command says of bad input: exactly the message of each case in `bad-inputs/`.
//!
//! A case is a file: the command line behind `$`, the files that it reads, and the message. Read one
//! to know the format; `bad_inputs/case.rs` has the rules. `LASTHOP_WRITE_MESSAGES=1 cargo test -p
//! lasthop-cli --test bad_inputs` rewrites the messages: read the difference.

#![allow(clippy::disallowed_methods, reason = "a command that does not end is given up")]

#[path = "bad_inputs/case.rs"]
mod case;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use case::Case;
use tempfile::TempDir;

/// A case takes milliseconds. On a busy machine it may take seconds.
const LONGEST: Duration = Duration::from_secs(60);
/// Address space that a process may have, in KiB. Threads have stacks; bad input has no more.
const MEMORY: &str = "4000000";
/// Octets of a message.
const LONGEST_MESSAGE: usize = 2_000;
/// Words of Rust, serde and TOML's parser that say nothing to a person who writes a file.
const JARGON: [&str; 15] = [
    "panicked",
    "usize",
    "u16",
    "u32",
    "u64",
    "i64",
    "i128",
    "f64",
    "struct ",
    "enum ",
    "variant",
    "field",
    "a sequence",
    "invalid type",
    "(os error",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad-inputs")
}

/// Every case, in order.
fn cases() -> Vec<PathBuf> {
    let entries = |folder: &Path| -> BTreeSet<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path()).collect()
    };
    let subjects = entries(&folder()).into_iter().filter(|path| path.is_dir());
    let files = subjects.flat_map(|subject| entries(&subject));
    files.filter(|path| path.extension().is_some_and(|extension| extension == "case")).collect()
}

fn content(mut file: File) -> Vec<u8> {
    let mut octets = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut octets)).expect("a readable file");
    octets
}

/// What the command printed on standard error. An `Err` says which rule it broke.
fn message_of(case: &Case) -> Result<String, String> {
    let directory = TempDir::new().expect("a temporary directory");
    case.write_files(directory.path());
    // Not pipes: a message that fills one would never end.
    let [printed, complaint] = [(); 2].map(|()| tempfile::tempfile().expect("a temporary file"));
    let output = |file: &File| Stdio::from(file.try_clone().expect("a descriptor"));
    let limited = format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"");
    let mut process = Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_lasthop")])
        .args(&case.arguments)
        .current_dir(directory.path())
        .env_clear()
        .stdin(case::standard_input(directory.path()))
        .stdout(output(&printed))
        .stderr(output(&complaint))
        .spawn()
        .expect("a shell");
    let start = Instant::now();
    let status = loop {
        match process.try_wait().expect("our process") {
            Some(status) => break status,
            None if start.elapsed() < LONGEST => thread::sleep(Duration::from_millis(2)),
            None => {
                process.kill().expect("our process");
                return Err(format!("does not end within {LONGEST:?}"));
            }
        }
    };
    let message = String::from_utf8(content(complaint)).map_err(|_| "the message is not UTF-8".to_owned())?;
    let message = message.trim_end().to_owned();
    if status.code() != Some(2) {
        return Err(format!("ends with {status} instead of exit code 2: {message}"));
    }
    if !content(printed).is_empty() {
        return Err("prints a result on standard output".to_owned());
    }
    if message.len() > LONGEST_MESSAGE {
        return Err(format!("prints {} octets", message.len()));
    }
    let words: BTreeSet<&str> = message.split(|c: char| !c.is_alphanumeric()).collect();
    match JARGON
        .into_iter()
        .find(|word| words.contains(word) || (word.contains(' ') && message.contains(word)))
    {
        Some(word) => Err(format!("says {word:?}: {message}")),
        None => Ok(message),
    }
}

/// Why a case fails; `None` if it holds.
fn failure(path: &Path, writes: bool) -> Option<String> {
    let name = path.strip_prefix(folder()).unwrap_or(path).display().to_string();
    let text = fs::read_to_string(path).expect("a text file");
    let case =
        Case::parse(&text, &folder().join("base")).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    match message_of(&case) {
        Err(problem) => Some(format!("{name}: {problem}")),
        Ok(message) if message == case.message => None,
        Ok(message) if writes => {
            fs::write(path, case.with_message(&message)).expect("a writable repository");
            None
        }
        Ok(message) => Some(format!("{name}:\n  expected {}\n  printed  {message}", case.message)),
    }
}

#[test]
fn every_bad_input_is_refused_with_its_message() {
    let writes = std::env::var_os("LASTHOP_WRITE_MESSAGES").is_some();
    let cases = cases();
    assert!(cases.len() >= 300, "{} cases", cases.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let indices = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let mine = indices.map_while(|index| cases.get(index));
        mine.filter_map(|path| failure(path, writes)).collect::<Vec<String>>()
    };
    let threads = 2 * thread::available_parallelism().map_or(1, NonZero::get);
    let failures: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a well-formed case")).collect()
    });
    let advice = "LASTHOP_WRITE_MESSAGES=1 cargo test -p lasthop-cli --test bad_inputs writes the messages";
    assert!(failures.is_empty(), "{} of {}:\n{}\n{advice}", failures.len(), cases.len(), failures.join("\n"));
}
