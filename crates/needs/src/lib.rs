//! For tests only: tests that need something of the machine that they run on.
//!
//! Such tests are in programs of their own (`harness = false`), which list them with what they
//! need. Where that is not there, a test is reported as ignored, with the reason; in CI (`CI` is in
//! the environment) it fails, except where only a [quiet machine](quiet) or a [kernel built for user
//! mode](user_mode_kernel) is missing:
//!
//! ```text
//! test bulk_tcp_arrives ... ignored (needs root for network namespaces)
//! ```
//!
//! ```no_run
//! use std::process::ExitCode;
//! use lasthop_needs::{namespaces, tests};
//!
//! fn main() -> ExitCode {
//!     lasthop_needs::run(tests! {
//!         [namespaces]: bulk_tcp_arrives;
//!         [namespaces, nft]: bulk_tcp_arrives_behind_address_translation;
//!     })
//! }
//!
//! fn nft() -> Result<(), String> {
//!     lasthop_needs::program("nft")
//! }
//!
//! fn bulk_tcp_arrives() {}
//! fn bulk_tcp_arrives_behind_address_translation() {}
//! ```

use std::env;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use rustix::thread::CapabilitySet;

/// Something that a test needs; the error says that it is not there.
pub type Need = fn() -> Result<(), String>;

/// A test in a list of [`tests!`].
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Its path.
    pub name: &'static str,
    /// What it needs.
    pub needs: &'static [Need],
    /// Its code, which panics if it fails.
    pub code: fn(),
}

/// Lists tests with what they need: `[namespaces, nft]: first, module::second; []: third;`.
#[macro_export]
macro_rules! tests {
    ($($needs:tt: $($test:path),+;)+) => {
        vec![$($($crate::list!($needs $test),)+)+]
    };
}

/// One of [`tests!`].
#[doc(hidden)]
#[macro_export]
macro_rules! list {
    ([$($need:path),*] $test:path) => {
        $crate::Test { name: stringify!($test), needs: &[$($need),*], code: $test }
    };
}

/// Runs tests as `cargo test` asks for it on the command line, and reports in its format.
pub fn run(tests: Vec<Test>) -> ExitCode {
    let trials = tests.into_iter().map(|test| Trial::ignorable_test(test.name, move || perform(test)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn perform(test: Test) -> Result<Completion, Failed> {
    if let Some(reason) = what_is_missing(test.needs) {
        let may_be_missing = env::var_os("CI").is_none() || [NOT_QUIET, NO_KERNEL].contains(&reason.as_str());
        assert!(may_be_missing, "CI must not leave this out: it {reason}");
        note(test.name, &reason)?;
        return Ok(Completion::ignored_with(reason));
    }
    (test.code)();
    Ok(Completion::Completed)
}

/// Why a test with these needs cannot run here.
fn what_is_missing(needs: &[Need]) -> Option<String> {
    needs.iter().find_map(|need| need().err())
}

/// Adds a line to the list that `make test` ends with, if this is part of it.
fn note(test: &str, reason: &str) -> Result<(), Failed> {
    if let Some(list) = env::var_os("LASTHOP_SKIPPED") {
        let line = format!("{reason}\t{test}\n");
        File::options().append(true).create(true).open(list)?.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Needs what hosts of our own are made of: network namespaces, TUN and TAP devices, iproute2.
pub fn namespaces() -> Result<(), String> {
    let wanted = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    if !rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(wanted)) {
        return Err("needs root for network namespaces".to_owned());
    }
    if !Path::new("/dev/net/tun").exists() {
        return Err("needs /dev/net/tun".to_owned());
    }
    program("ip")
}

/// Needs a program that is in one of the directories of `PATH`.
pub fn program(name: &str) -> Result<(), String> {
    any_program(&[name])
}

/// Needs one of these programs.
pub fn any_program(names: &[&str]) -> Result<(), String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| env::split_paths(&path).any(|directory| directory.join(name).is_file());
    if names.iter().any(is_there) { Ok(()) } else { Err(format!("needs {}", names.join(" or "))) }
}

/// Needs a machine that does nothing else, on which times and rates can be asserted: `make quiet` says so
/// with `LASTHOP_QUIET`. CI runs on a machine that may be busy.
pub fn quiet() -> Result<(), String> {
    if env::var_os("LASTHOP_QUIET").is_some() { Ok(()) } else { Err(NOT_QUIET.to_owned()) }
}

/// Needs a Linux kernel that was built for user mode, which `LASTHOP_KERNEL` names: to build one takes
/// ten minutes of processor time (`lasthop kernel build`).
pub fn user_mode_kernel() -> Result<(), String> {
    if env::var_os("LASTHOP_KERNEL").is_some() { Ok(()) } else { Err(NO_KERNEL.to_owned()) }
}

const NO_KERNEL: &str = "needs a kernel built for user mode (LASTHOP_KERNEL=PATH)";
const NOT_QUIET: &str = "needs a quiet machine (make quiet)";

/// Prints how long `attempt` says that it took. On a [quiet machine](quiet), asserts that this is less
/// than `most`: other work makes things later, never earlier, so the best of some attempts counts.
#[allow(clippy::print_stderr, reason = "how long it took is worth knowing where it took too long")]
pub fn assert_in_time(what: &str, most: Duration, mut attempt: impl FnMut() -> Duration) {
    let attempts = if quiet().is_ok() { 5 } else { 1 };
    let mut best = Duration::MAX;
    for _ in 0..attempts {
        let took = attempt();
        eprintln!("{what}: {took:?}; on a quiet machine less than {most:?}");
        best = best.min(took);
        if best < most {
            return;
        }
    }
    assert!(quiet().is_err(), "{what}: {best:?} at best");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_there() -> Result<(), String> {
        program("sh")
    }

    fn is_missing() -> Result<(), String> {
        program("no-such-program")
    }

    #[test]
    fn a_test_is_left_out_for_the_first_thing_that_is_missing() {
        assert_eq!(what_is_missing(&[]), None);
        assert_eq!(what_is_missing(&[is_there]), None);
        assert_eq!(what_is_missing(&[is_there, is_missing]).as_deref(), Some("needs no-such-program"));
    }

    #[test]
    fn a_program_is_looked_for_in_the_path() {
        assert_eq!(program("sh"), Ok(()));
        assert_eq!(any_program(&["no-such-program", "sh"]), Ok(()));
        assert_eq!(any_program(&["no-such", "nor-this"]), Err("needs no-such or nor-this".to_owned()));
    }
}
