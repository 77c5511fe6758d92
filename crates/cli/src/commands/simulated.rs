//! What commands with `--time simulated` share: whose time it is, the kernel, and the first program of its guests.

use std::env;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::ValueEnum;
use lasthop_kernels::{Kernel, Kernels};
use lasthop_linux::tool;
use lasthop_trial::simulated::guest::OWN_FOLDERS;
use lasthop_trial::{GuestProgram, HostKernel};

use crate::failure::Failure;

/// The subcommand of the first program of a guest (`commands/guest.rs`).
const GUEST: &str = "guest";

/// The first octets of a program.
const ELF: &[u8; 4] = b"\x7fELF";

/// The time that hosts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Time {
    /// That of this machine.
    Real,
    /// That of the model.
    Simulated,
}

/// The kernel of `--kernel`: by default the newest one.
pub fn kernel(wanted: Option<&str>) -> Result<HostKernel, Failure> {
    match wanted.filter(|wanted| wanted.contains('/')) {
        Some(path) => named_kernel(path).with_context(|| format!("--kernel {path}")),
        None => newest(wanted),
    }
    .map_err(Failure::usage)
}

/// A kernel by its name. One without a slash is a version.
pub fn named_kernel(wanted: &str) -> anyhow::Result<HostKernel> {
    if !wanted.contains('/') {
        return newest(Some(wanted));
    }
    anyhow::ensure!(Path::new(wanted).is_file(), "expected the file of a kernel");
    let path = PathBuf::from(wanted);
    let mut magic = [0; 4];
    let is_program =
        File::open(&path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *ELF;
    anyhow::ensure!(
        is_program,
        "not a program; expected a user-mode kernel, as `lasthop kernel build` makes it"
    );
    let known = Kernel::of_file(&path);
    let series = known.as_ref().map(|kernel| kernel.record().version().numbers_of_series());
    let name = known.map_or_else(|| wanted.to_owned(), |kernel| kernel.name());
    Ok(HostKernel { path, name, series })
}

/// The newest kernel of a version, or of all.
fn newest(wanted: Option<&str>) -> anyhow::Result<HostKernel> {
    let kernel = Kernels::of_user()?.find(wanted)?;
    let version = kernel.record().version();
    let series = Some(version.numbers_of_series());
    Ok(HostKernel { path: kernel.path(), name: version.to_string(), series })
}

/// The first program of guests: this one.
pub fn guest_program() -> Result<GuestProgram, Failure> {
    if !tool::found("ip").is_file() {
        let problem = "ip is not on this machine (package iproute2); expected it in simulated time";
        return Err(Failure::usage(anyhow!(problem)));
    }
    let path = env::current_exe().context("the path of this program").map_err(Failure::Run)?;
    Ok(GuestProgram { path, argument: GUEST })
}

/// Refuses a file or a directory in a place where a guest has a file system of its own; `expected` is part of the sentence.
pub fn check_place(path: &Path, expected: &str) -> Result<(), Failure> {
    match problem_of_place(path, expected) {
        None => Ok(()),
        Some(problem) => Err(Failure::usage(anyhow!("{}: {problem}", path.display()))),
    }
}

/// The problem of such a file or directory, as a sentence; `None` if a guest finds it.
pub fn problem_of_place(path: &Path, expected: &str) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let folder = OWN_FOLDERS.into_iter().find(|folder| path.starts_with(folder))?;
    Some(format!(
        "in simulated time, there is another file system at {folder}; expected {expected} elsewhere"
    ))
}
