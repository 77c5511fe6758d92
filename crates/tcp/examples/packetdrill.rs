//! Runs packetdrill scripts on the TCP endpoint; `--help` says how.
//!
//! ```text
//! cargo run -p lasthop-tcp --example packetdrill -- crates/tcp/tests/scripts
//! ```
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a command, which reports and looks at the clock for its progress line"
)]

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

use lasthop_packetdrill::{HELP, Summary, Verdict, scripts_below, verdict_of};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let lists = arguments.iter().any(|argument| argument == "--list");
    let files: Vec<&String> = arguments.iter().filter(|argument| *argument != "--list").collect();
    if files.is_empty() || files.iter().any(|file| file.starts_with('-')) {
        eprintln!("Usage: packetdrill [--list] FILE... (--help says more)");
        return ExitCode::from(2);
    }
    let mut scripts = Vec::new();
    for file in files {
        match scripts_below(Path::new(file)) {
            Ok(found) => scripts.extend(found),
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    match run(&scripts, lists) {
        Ok(summary) => {
            if lists {
                for (what, count) in summary.unknown() {
                    println!("{count:4} not understood: {what}");
                }
            }
            println!("{}", summary.line());
            if summary.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// The error names a file that cannot be read.
fn run(scripts: &[PathBuf], lists: bool) -> Result<Summary, String> {
    let started = Instant::now();
    let mut summary = Summary::default();
    for (at, path) in scripts.iter().enumerate() {
        if started.elapsed() > Duration::from_secs(2) && stderr().is_terminal() {
            // Erased before the next line is printed.
            eprint!("{at} of {} scripts\r", scripts.len());
        }
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let verdict = verdict_of(&text);
        match &verdict {
            Verdict::Passes if lists => println!("pass {}", path.display()),
            Verdict::Passes => {}
            Verdict::Fails(error) | Verdict::NotUnderstood(error) => println!("{}:{error}", path.display()),
        }
        summary.add(&verdict);
    }
    Ok(summary)
}
