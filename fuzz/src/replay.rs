//! Runs a target without cargo-fuzz, the same way on every machine: on each file of its corpus, and
//! on a fixed number of inputs that a fixed seed makes from these files.

use std::fs;
use std::path::{Path, PathBuf};

use lasthop_packet::Rng;

/// How many inputs are made for each target.
const MADE: usize = 10_000;

/// Runs the body on the files of the target's corpus, and on inputs made from them. If it panics,
/// the input is left in the directory of the tests' temporary files, and its path is shown.
pub fn replay(target: &str, body: fn(&[u8])) {
    let corpus = corpus(target);
    let mut paths: Vec<PathBuf> = fs::read_dir(&corpus)
        .expect("the corpus is committed")
        .map(|entry| entry.expect("a readable directory").path())
        .collect();
    // Finds of cargo-fuzz that are not committed are on one machine only.
    paths.retain(|path| !path.file_name().is_some_and(|name| is_find(&name.to_string_lossy())));
    paths.sort();
    assert!(paths.len() >= 6, "{} files in {}", paths.len(), corpus.display());
    let files: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).expect("a readable file")).collect();
    for input in &files {
        run(target, body, input);
    }
    let mut rng = Rng::named(1997, target);
    for _ in 0..MADE {
        run(target, body, &mutant(&files, &mut rng));
    }
}

/// The committed inputs of a target.
pub fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// Whether cargo-fuzz gave a file its name, a hash.
fn is_find(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|octet| octet.is_ascii_hexdigit())
}

fn run(target: &str, body: fn(&[u8]), input: &[u8]) {
    let _kept = KeptIfItPanics { target, input };
    body(input);
}

struct KeptIfItPanics<'a> {
    target: &'a str,
    input: &'a [u8],
}

impl Drop for KeptIfItPanics<'_> {
    #[allow(clippy::print_stdout, reason = "shown only where the test fails")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-failed", self.target));
            match fs::write(&path, self.input) {
                Ok(()) => println!("the input is in {}", path.display()),
                Err(_) => println!("the input: {}", self.input.escape_ascii()),
            }
        }
    }
}

/// One of the files with one to four changes.
fn mutant(files: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut input = pick(files, rng).clone();
    for _ in 0..=rng.below(4) {
        change(&mut input, files, rng);
    }
    input
}

/// Numbers as octets and as text at which ranges end.
const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, b'0', b'-'];
const NUMBERS: [&[u8]; 10] =
    [b"0", b"1", b"-1", b"65535", b"65536", b"4294967295", b"18446744073709551616", b"1e999", b"nan", b"0.5"];

fn change(input: &mut Vec<u8>, files: &[Vec<u8>], rng: &mut Rng) {
    let at = below(input.len() + 1, rng);
    let end = (at + 1 + below(8, rng)).min(input.len());
    match rng.below(8) {
        0 if at < input.len() => input[at] ^= 1 << rng.below(8),
        1 if at < input.len() => input[at] = *pick(&EDGES, rng),
        2 => drop(input.splice(at..end, std::iter::repeat_with(|| rng.next_u64() as u8).take(end - at))),
        3 => drop(input.drain(at..end)),
        4 => input.truncate(at),
        // A number of a text.
        5 => {
            let digits = |octet: &u8| octet.is_ascii_digit();
            let start = input[at..].iter().position(digits).map_or(at, |offset| at + offset);
            let length = input[start..].iter().take_while(|octet| digits(octet)).count();
            drop(input.splice(start..start + length, pick(&NUMBERS, rng).iter().copied()));
        }
        // A part of another file, or of this one.
        6 => {
            let other = pick(files, rng);
            let from = below(other.len() + 1, rng);
            let part = &other[from..(from + 1 + below(64, rng)).min(other.len())];
            drop(input.splice(at..at, part.iter().copied()));
        }
        _ => {
            let other = pick(files, rng);
            input.truncate(at);
            input.extend_from_slice(&other[below(other.len() + 1, rng)..]);
        }
    }
    input.truncate(LONGEST);
}

/// Octets of an input, as libFuzzer's default.
const LONGEST: usize = 4096;

fn pick<'a, T>(from: &'a [T], rng: &mut Rng) -> &'a T {
    &from[below(from.len(), rng)]
}

fn below(bound: usize, rng: &mut Rng) -> usize {
    rng.below(bound as u64) as usize
}
