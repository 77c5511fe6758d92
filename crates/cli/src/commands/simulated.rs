//! What commands with `--time simulated` share: whose time it is, the kernel, and the first program of its guests.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::ValueEnum;
use lasthop_kernels::Kernels;
use lasthop_trial::GuestProgram;
use lasthop_trial::simulated::guest::OWN_FOLDERS;

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

/// The path of a kernel, and its name in tables: by default the newest one. A name without a slash is a version.
pub fn kernel(wanted: Option<&str>) -> Result<(PathBuf, String), Failure> {
    if let Some(path) = wanted.filter(|wanted| wanted.contains('/')) {
        if !Path::new(path).is_file() {
            return Err(Failure::usage(anyhow!("--kernel {path}: expected the file of a kernel")));
        }
        return Ok((path.into(), path.to_owned()));
    }
    let kernel = Kernels::of_user().map_err(Failure::usage)?.find(wanted).map_err(Failure::usage)?;
    Ok((kernel.path(), kernel.record().version().to_string()))
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
