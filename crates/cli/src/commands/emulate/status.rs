//! `lasthop emulate status`.

use std::collections::BTreeMap;

use clap::Args;
use lasthop_live::emulator::control::{self, Status};
use lasthop_live::emulator::directory::Directory;
use serde::Deserialize;

use super::set;
use crate::failure::Failure;
use crate::output;

/// The arguments of `emulate status`.
#[derive(Args)]
pub struct Arguments {
    /// Print one JSON document: a list of emulations, each with the keys of its summary so far
    #[arg(long)]
    json: bool,
}

/// What is printed of a summary.
#[derive(Deserialize)]
struct Summary {
    duration_s: f64,
    packets_taken: u64,
    packets_handed_out: u64,
    dropped: BTreeMap<String, u64>,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let mut all = Vec::new();
    let mut sockets = control::sockets(&Directory::all());
    // Behind a link, root of the emulation is not the user whose directory has the socket.
    sockets.extend(set::inherited());
    sockets.sort();
    sockets.dedup();
    for socket in &sockets {
        match control::status(socket) {
            Ok(status) => all.push(status),
            // Another user's, one that does not answer, or one that has just ended.
            Err(error) => output::complain(&format!("lasthop: {error}")),
        }
    }
    if arguments.json {
        return output::print_json(&all);
    }
    if sockets.is_empty() {
        return output::print("no emulation is running");
    }
    all.iter().try_for_each(|status| output::print(&line(status)?))
}

fn line(Status { about, summary }: &Status) -> Result<String, Failure> {
    let summary = serde_json::Value::Object(summary.clone());
    let Summary { duration_s, packets_taken, packets_handed_out, dropped } =
        serde_json::from_value(summary).map_err(|error| Failure::Run(error.into()))?;
    let dropped: u64 = dropped.values().sum();
    Ok(format!(
        "{}: [{}] {}; {duration_s:.0} s, {packets_taken} packets in, {packets_handed_out} out, {dropped} dropped",
        about.pid, about.link, about.command
    ))
}
