//! The network of an emulation, and the user as whom its command runs.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context, anyhow};
use lasthop_emulator::command::RunAs;
use lasthop_emulator::directory::Directory;
use lasthop_emulator::host_side::HostSide;
use lasthop_emulator::machine::Machine;
use lasthop_emulator::user::User;
use lasthop_linux::unprivileged;

use crate::failure::Failure;

/// The properties of an emulation that depend on whether root runs this process.
pub struct Place {
    /// The directory of the emulation's files.
    pub directory: Directory,
    /// This machine, which the command reaches.
    pub machine: Machine,
    /// The user as whom the command runs.
    pub run_as: RunAs,
}

impl Place {
    /// Determines the place for this process. The command runs as the user with this name, as root,
    /// or as the caller. Must be called before any thread starts.
    pub fn new(user: Option<&str>, as_root: bool) -> Result<Self, Failure> {
        if lasthop_linux::may_administer_this_machine() {
            Self::in_this_network(user, as_root)
        } else {
            Self::in_its_own_network(user, as_root)
        }
    }

    /// The place for root, who may change this machine's devices and rules.
    fn in_this_network(user: Option<&str>, as_root: bool) -> Result<Self, Failure> {
        let run_as = match user {
            _ if as_root => Ok(None),
            Some(name) => User::named(name).map(Some).context("--user"),
            None => User::who_called_sudo().context("choose a user with --user NAME, or --as-root"),
        };
        let run_as = run_as.map_err(Failure::usage)?.map_or(RunAs::ThisProcess, RunAs::User);
        Ok(Self { directory: Directory::for_root(), machine: Machine::Here, run_as })
    }

    /// The place for other users, who may change only their own network namespaces. A process stays
    /// in this machine's.
    fn in_its_own_network(user: Option<&str>, as_root: bool) -> Result<Self, Failure> {
        if user.is_some() {
            return Err(Failure::usage(anyhow!(
                "--user: only root can run the command as another user; expected to be called with sudo"
            )));
        }
        // Before the user namespace is entered, in which the user appears as root.
        let directory = Directory::for_this_user();
        let host_side = HostSide::start(this_program("host-side"))
            .context("cannot start the process that stays in this machine's network")
            .map_err(Failure::Run)?;
        let caller = unprivileged::enter().map_err(|error| Failure::Run(error.into()))?;
        let run_as = if as_root { RunAs::ThisProcess } else { RunAs::Caller(caller) };
        Ok(Self { directory, machine: Machine::HostSide(host_side), run_as })
    }
}

/// A command that runs this program as a helper of an emulation, even if the program's file has
/// been replaced or removed.
pub fn this_program(helper: &str) -> Command {
    let mut program = Command::new("/proc/self/exe");
    program.arg0("lasthop").args(["emulate", helper]);
    program
}
