//! The command `packetdrill`: finds scripts, runs them, and counts the verdicts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::Error;
use crate::numbers::Numbers;
use crate::run::Run;
use crate::script::Script;

/// The help text of the command.
pub const HELP: &str = "\
Runs packetdrill scripts on lasthop's TCP endpoint, in simulated time.

Usage: packetdrill [--list] FILE...

A FILE is a script, or a folder: then all scripts (*.pkt) in it and below it.
--list prints a line for each script, and what the scripts use that is not understood.

A script says what the application calls, what arrives, and what the endpoint must send, and when:

    `../common/defaults.sh`                          // the host is Linux as it is

     0  socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    +0  bind(3, ..., ...) = 0
    +0  listen(3, 1) = 0
    +.1 < S 0:0(0) win 32792 <mss 1000,nop,wscale 7>
    +0  > S. 0:0(0) ack 1 <mss 1460,nop,wscale 8>
    +.1 < . 1:1(0) ack 1 win 257
    +0  accept(3, ..., ...) = 4
    +0  write(4, ..., 1000) = 1000
    +0  > P. 1:1001(1000) ack 1
    +0  %{ assert tcpi_snd_cwnd == 10 }%

Instead of a real handshake and of Linux's settings, a script may have options at its head:

    --open=established --reader=prompt --tolerance_usecs=0 --config=\"rack initial_window=4\"

`cargo doc -p lasthop-packetdrill` has the rules. Each script runs three times, with small initial
sequence numbers and with numbers that wrap.

Exit code: 0 all scripts pass, 1 one does not (it failed, or is not understood), 2 usage, or a file
cannot be read.
";

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The endpoint behaves as the script specifies.
    Passes,
    /// The endpoint differs from the script.
    Fails(Error),
    /// The script uses an unknown element, or is malformed.
    NotUnderstood(Error),
}

/// Runs a script with small initial sequence numbers and with numbers that wrap.
pub fn verdict_of(text: &str) -> Verdict {
    let run = |script: &Script| -> Result<(), Error> {
        for numbers in Numbers::ALL {
            Run::new(script, numbers)?.events(script)?;
        }
        Ok(())
    };
    match Script::parse(text).and_then(|script| run(&script)) {
        Ok(()) => Verdict::Passes,
        Err(error @ Error::Failed { .. }) => Verdict::Fails(error),
        Err(error) => Verdict::NotUnderstood(error),
    }
}

/// The scripts in a folder and its subfolders, in order. The path of a file is returned as is.
pub fn scripts_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut scripts = Vec::new();
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            scripts.extend(scripts_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            scripts.push(path);
        }
    }
    Ok(scripts)
}

/// Counts of verdicts, and the unknown elements of scripts.
#[derive(Debug, Default)]
pub struct Summary {
    passed: usize,
    failed: usize,
    not_understood: usize,
    unknown: BTreeMap<String, usize>,
}

impl Summary {
    /// Counts a verdict.
    pub fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passes => self.passed += 1,
            Verdict::Fails(_) => self.failed += 1,
            Verdict::NotUnderstood(error) => {
                self.not_understood += 1;
                let what = match error {
                    Error::NotUnderstood { what, .. } => what.clone(),
                    _ => "syntax".to_owned(),
                };
                *self.unknown.entry(what).or_default() += 1;
            }
        }
    }

    /// Whether all scripts passed.
    pub const fn is_clean(&self) -> bool {
        self.failed + self.not_understood == 0
    }

    /// A line with the counts and the percentage of scripts that are understood.
    pub fn line(&self) -> String {
        let understood = self.passed + self.failed;
        let all = understood + self.not_understood;
        let share = 100 * understood / all.max(1);
        format!(
            "scripts: {all}, {understood} understood ({share} %), {} pass, {} fail",
            self.passed, self.failed
        )
    }

    /// The unknown elements, with the number of scripts in which each is the first one.
    pub fn unknown(&self) -> impl Iterator<Item = (&str, usize)> {
        self.unknown.iter().map(|(what, count)| (what.as_str(), *count))
    }
}
