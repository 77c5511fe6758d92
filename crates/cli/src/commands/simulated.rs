//! What commands with `--time simulated` share: whose time it is, the kernel, and the first program of its guests.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;
use lasthop_kernels::{Kernel, Kernels};
use lasthop_trial::simulated::guest::OWN_FOLDERS;
use lasthop_trial::{GuestProgram, HostKernel};

use crate::failure::Failure;

/// The subcommand of the first program of a guest (`commands/guest.rs`).
const GUEST: &str = "guest";

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
    let name = Kernel::of_file(&path).map_or_else(|| wanted.to_owned(), |kernel| kernel.name());
    Ok(HostKernel { path, name })
}

/// The newest kernel of a version, or of all.
fn newest(wanted: Option<&str>) -> anyhow::Result<HostKernel> {
    let kernel = Kernels::of_user()?.find(wanted)?;
    Ok(HostKernel { path: kernel.path(), name: kernel.record().version().to_string() })
}

/// The first program of guests: this one.
pub fn guest_program() -> Result<GuestProgram, Failure> {
    let path = env::current_exe().context("the path of this program").map_err(Failure::Run)?;
    Ok(GuestProgram { path, argument: GUEST })
}

/// The folder in the place of which a guest has a file system of its own, if a file is there.
pub fn folder_of_guest(file: &Path) -> Option<&'static str> {
    let file = file.canonicalize().ok()?;
    OWN_FOLDERS.into_iter().find(|folder| file.starts_with(folder))
}
