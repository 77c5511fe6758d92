//! `lasthop emulate set`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use lasthop_config::words::did_you_mean;
use lasthop_emulator::control::{self, ControlError, socket_of};
use lasthop_emulator::directory::Directory;

use super::value;
use crate::failure::Failure;

/// The environment variable with the path of the emulation's control socket, for the command.
pub const SOCKET: &str = "LASTHOP_EMULATE_SOCKET";

/// The arguments of `emulate set`.
#[derive(Args)]
pub struct Arguments {
    /// A key of a link and its value, as in the file: hop.loss=2%, air.forward.rate="5 Mbit/s", or for each
    /// direction DOWN:UP: hop.rate=20mbit:2mbit, hop.down.rate=20mbit; keys: rate, delay, jitter,
    /// jitter-distribution, delay-correlation, order, reorder, loss, duplicate, corrupt, queue, channel, trace,
    /// only, except, connections
    #[arg(required = true, value_name = "LINK.KEY=VALUE")]
    assignments: Vec<String>,
    /// The process ID of the emulation; required if there are several
    #[arg(long, conflicts_with = "socket")]
    pid: Option<u32>,
    /// The name of the emulation (`emulate --name`)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pid", "socket"])]
    name: Option<String>,
    /// The socket of the emulation
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let of_name = arguments.name.as_deref().map(of_name).transpose()?;
    let named = arguments.socket.clone().or(arguments.pid.map(of_process)).or(of_name);
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

/// The socket of the emulation that has started this process.
pub fn inherited() -> Option<PathBuf> {
    std::env::var_os(SOCKET).map(PathBuf::from)
}

/// The socket of the emulation with this process ID.
fn of_process(pid: u32) -> PathBuf {
    let sockets: Vec<PathBuf> = Directory::all().iter().map(|directory| socket_of(pid, directory)).collect();
    let there = sockets.iter().find(|socket| socket.exists());
    there.unwrap_or(&sockets[0]).clone()
}

/// The socket of the emulation with this name.
fn of_name(name: &str) -> Result<PathBuf, Failure> {
    let mut sockets = control::sockets(&Directory::all());
    sockets.extend(inherited());
    sockets.sort();
    sockets.dedup();
    let names = |socket: PathBuf| Some((control::status(&socket).ok()?.about.name?, socket));
    let (named, others): (Vec<_>, Vec<_>) =
        sockets.into_iter().filter_map(names).partition(|(other, _)| other == name);
    let mut named = named.into_iter().map(|(_, socket)| socket);
    match (named.next(), named.next()) {
        (Some(socket), None) => Ok(socket),
        (None, _) => {
            let others: Vec<&str> = others.iter().map(|(other, _)| other.as_str()).collect();
            let meant = did_you_mean(name, &others);
            Err(Failure::Run(anyhow!("no emulation with the name {name:?} is running{meant}")))
        }
        (Some(_), Some(_)) => Err(Failure::usage(anyhow!(
            "several emulations have the name {name:?}; choose one with --pid, as `lasthop emulate status` lists them"
        ))),
    }
}

/// An assignment in the form of a file. A malformed one is refused before a request to an
/// emulation.
fn assignment(text: &str) -> Result<String, String> {
    let texts = [text.to_owned()];
    let assignments = control::parse_assignments(&texts)?;
    let read = |(key, text): &(&str, &str)| {
        let (link, last) = key.rsplit_once('.').unwrap_or(("LINK", key));
        if let Some(meant) = value::meant_by(last) {
            return Err(format!("unknown key {last:?}{}", meant.suffix()));
        }
        if value::IS_OF_A_DIRECTION.contains(&last) && text.contains(':') {
            let of_one = link.rsplit_once('.').map(|(_, direction)| direction);
            if let Some(direction @ ("down" | "up" | "forward" | "backward")) = of_one {
                return Err(format!(
                    "{text:?} is a value for each direction; expected one value for {direction}"
                ));
            }
            let [down, up] = value::of_directions(last, text)?;
            return Ok(format!("{link}.down.{last}={down}\n{link}.up.{last}={up}"));
        }
        Ok(format!("{key}={}", value::in_a_file(last, text)))
    };
    Ok(assignments.iter().map(read).collect::<Result<Vec<String>, String>>()?.join("\n"))
}

/// The socket of the only emulation.
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
