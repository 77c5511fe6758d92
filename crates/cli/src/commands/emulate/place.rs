//! Where an emulation takes place, and as whom its command runs.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context, anyhow};
use lasthop_live::emulator::command::RunAs;
use lasthop_live::emulator::directory::Directory;
use lasthop_live::emulator::machine::Machine;
use lasthop_live::emulator::outside::Outside;
use lasthop_live::emulator::user::User;
use lasthop_live::unprivileged;

use super::Arguments;
use crate::failure::Failure;

/// What depends on whether root runs this.
pub struct Place {
    /// Where the emulation's files are.
    pub directory: Directory,
    /// This machine, which the command reaches.
    pub machine: Machine,
    /// As whom the command runs.
    pub run_as: RunAs,
}

impl Place {
    /// In this machine's network, whose devices and rules root may change.
    pub fn as_root(arguments: &Arguments) -> Result<Self, Failure> {
        let run_as = match &arguments.user {
            _ if arguments.as_root => Ok(None),
            Some(name) => User::named(name).map(Some).context("--user"),
            None => User::who_called_sudo().context("choose a user with --user NAME, or --as-root"),
        };
        let run_as = run_as.map_err(Failure::usage)?.map_or(RunAs::ThisProcess, RunAs::User);
        Ok(Self { directory: Directory::of_root(), machine: Machine::Here, run_as })
    }

    /// In a network of its own, with a process in this machine's. To be called before any thread
    /// starts.
    pub fn without_root(arguments: &Arguments) -> Result<Self, Failure> {
        if arguments.user.is_some() {
            return Err(Failure::usage(anyhow!(
                "--user: only root can run the command as another user; expected to be called with sudo"
            )));
        }
        // While this is known: in the user namespace everybody is root.
        let directory = Directory::of_this_user();
        let outside = Outside::start(this_program("outside"))?;
        let caller = unprivileged::enter().map_err(|error| Failure::Run(error.into()))?;
        let run_as = if arguments.as_root { RunAs::ThisProcess } else { RunAs::Caller(caller) };
        Ok(Self { directory, machine: Machine::Outside(outside), run_as })
    }
}

/// This very program, whatever has become of its file, as a helper of an emulation.
pub fn this_program(helper: &str) -> Command {
    let mut program = Command::new("/proc/self/exe");
    program.arg0("lasthop").args(["emulate", helper]);
    program
}
