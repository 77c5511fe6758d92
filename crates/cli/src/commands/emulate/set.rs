//! `lasthop emulate set`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use lasthop_live::emulator::control::{self, ControlError, socket_of};

use crate::failure::Failure;

/// The variable that tells a command behind a link where its emulation listens.
pub const SOCKET: &str = "LASTHOP_EMULATE_SOCKET";

#[derive(Subcommand)]
pub enum SetCommand {
    /// Change links of a running emulation, all keys at the same time between two events
    Set(Arguments),
}

/// The arguments of `emulate set`.
#[derive(Args)]
pub struct Arguments {
    /// A key of a link and its value, as in the file: air.rate="5 Mbit/s", air.forward.loss=2%; keys:
    /// rate, delay, jitter, jitter-distribution, loss, queue, channel, trace
    #[arg(required = true, value_name = "LINK.KEY=VALUE", value_parser = assignment)]
    assignments: Vec<String>,
    /// The process ID of the emulation; required if there are several
    #[arg(long, conflicts_with = "socket")]
    pid: Option<u32>,
    /// The socket of the emulation
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

pub fn execute(SetCommand::Set(arguments): &SetCommand) -> Result<(), Failure> {
    let named = arguments.socket.clone().or(arguments.pid.map(socket_of));
    let inherited = || std::env::var_os(SOCKET).map(PathBuf::from);
    let socket = named.or_else(inherited).map_or_else(only_one, Ok)?;
    control::change(&socket, &arguments.assignments).map_err(|error| match error {
        refused @ ControlError::Refused(_) => Failure::usage(refused),
        other => Failure::Run(other.into()),
    })
}

/// Refuses what sets nothing before an emulation is asked.
fn assignment(text: &str) -> Result<String, String> {
    control::parse_assignments(&[text.to_owned()]).map(|_| text.to_owned())
}

/// The socket of the one emulation that there is.
fn only_one() -> Result<PathBuf, Failure> {
    let directory = socket_of(0).parent().map(Path::to_owned).unwrap_or_default();
    let mut sockets: Vec<PathBuf> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
        .filter(|path| control::is_alive(path))
        .collect();
    sockets.sort();
    match sockets.as_slice() {
        [socket] => Ok(socket.clone()),
        [] => Err(Failure::Run(anyhow!("no emulation is running on this machine"))),
        several => {
            let names: Vec<String> = several.iter().map(|path| path.display().to_string()).collect();
            Err(Failure::usage(anyhow!(
                "several emulations are running; choose one with --socket: {}",
                names.join(", ")
            )))
        }
    }
}
