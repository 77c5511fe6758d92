//! `lasthop kernel`.

mod build;
mod list;
mod remove;

use clap::{Args, Subcommand};
use lasthop_kernels::Kernels;

use crate::failure::Failure;

/// The arguments of `kernel`.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "A user-mode kernel is Linux as a program of an ordinary user. It needs no rights, no module and no device of this machine, and lasthop decides what time it is in it. It is built once, and kept in ~/.cache/lasthop/kernels, or in $XDG_CACHE_HOME/lasthop/kernels.\n\n\
                  Examples:\n  lasthop kernel build\n  lasthop kernel build 6.1\n  lasthop kernel list\n  lasthop kernel remove 6.1"
)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

/// What is done with kernels.
#[derive(Subcommand)]
enum What {
    /// Build a user-mode kernel from a source package of this machine, or from a source of yours
    Build(build::Arguments),
    /// List the kernels that are built, and which of them would be built again
    List(list::Arguments),
    /// Remove kernels
    Remove(remove::Arguments),
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let kernels = Kernels::of_user().map_err(Failure::usage)?;
    match &arguments.what {
        What::Build(arguments) => build::execute(&kernels, arguments),
        What::List(arguments) => list::execute(&kernels, arguments),
        What::Remove(arguments) => remove::execute(&kernels, arguments),
    }
}
