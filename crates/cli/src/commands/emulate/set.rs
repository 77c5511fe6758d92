//! `lasthop emulate set`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use lasthop_live::emulator::control::{self, ControlError, socket_of};
use lasthop_live::emulator::directory::Directory;

use super::value;
use crate::failure::Failure;

/// The variable that tells a command behind a link where its emulation listens.
pub const SOCKET: &str = "LASTHOP_EMULATE_SOCKET";

/// The arguments of `emulate set`.
#[derive(Args)]
pub struct Arguments {
    /// A key of a link and its value, as in the file: hop.loss=2%, air.forward.rate="5 Mbit/s"; keys:
    /// rate, delay, jitter, jitter-distribution, delay-correlation, order, loss, duplicate, corrupt, queue, channel, trace
    #[arg(required = true, value_name = "LINK.KEY=VALUE")]
    assignments: Vec<String>,
    /// The process ID of the emulation; required if there are several
    #[arg(long, conflicts_with = "socket")]
    pid: Option<u32>,
    /// The socket of the emulation
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let named = arguments.socket.clone().or(arguments.pid.map(of_process));
    let read = |text: &String| {
        let named = if text.is_empty() { "\"\"" } else { text };
        assignment(text).map_err(|problem| Failure::usage(anyhow!("{named}: {problem}")))
    };
    let assignments = arguments.assignments.iter().map(read).collect::<Result<Vec<String>, Failure>>()?;
    let socket = named.or_else(inherited).map_or_else(only_one, Ok)?;
    control::change(&socket, &assignments).map_err(|error| match error {
        refused @ ControlError::Refused(_) => Failure::usage(refused),
        other => Failure::Run(other.into()),
    })
}

/// The socket of the emulation behind whose link this process runs.
pub fn inherited() -> Option<PathBuf> {
    std::env::var_os(SOCKET).map(PathBuf::from)
}

/// The socket of the emulation in this process.
fn of_process(pid: u32) -> PathBuf {
    let sockets: Vec<PathBuf> = Directory::all().iter().map(|directory| socket_of(pid, directory)).collect();
    let there = sockets.iter().find(|socket| socket.exists());
    there.unwrap_or(&sockets[0]).clone()
}

/// An assignment as a file would have it. What sets nothing is refused before an emulation is asked.
fn assignment(text: &str) -> Result<String, String> {
    let texts = [text.to_owned()];
    let assignments = control::parse_assignments(&texts)?;
    let read = |(key, text): &(&str, &str)| {
        let (link, last) = key.rsplit_once('.').unwrap_or(("LINK", key));
        match text.split_once(':') {
            _ if last == "reorder" => Err(format!(
                "cannot be set while the link is in use; expected {link}.order=overtake, with which {link}.jitter reorders packets"
            )),
            Some((one, other)) if value::IS_OF_A_DIRECTION.contains(&last) => Err(format!(
                "expected one value, or a key for each direction: {link}.forward.{last}={one} {link}.backward.{last}={other}"
            )),
            _ => Ok(format!("{key}={}", value::in_a_file(last, text)?)),
        }
    };
    Ok(assignments.iter().map(read).collect::<Result<Vec<String>, String>>()?.join("\n"))
}

/// The socket of the one emulation that there is.
fn only_one() -> Result<PathBuf, Failure> {
    let (others, sockets): (Vec<PathBuf>, Vec<PathBuf>) = control::sockets(&Directory::all())
        .into_iter()
        .partition(|socket| control::is_another_user_s(socket));
    match sockets.as_slice() {
        [socket] => Ok(socket.clone()),
        [] if !others.is_empty() => {
            Err(Failure::Run(anyhow!("the emulations on this machine run as other users: use sudo")))
        }
        [] => Err(Failure::Run(anyhow!("no emulation is running on this machine"))),
        several => Err(Failure::usage(anyhow!(
            "{} emulations are running; choose one with --pid, as `lasthop emulate status` lists them",
            several.len()
        ))),
    }
}
