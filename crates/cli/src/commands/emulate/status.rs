//! `lasthop emulate status`.

use std::collections::BTreeMap;

use anyhow::anyhow;
use clap::Args;
use lasthop_config::words::{counted, printable};
use lasthop_emulator::control::{self, ControlError, Status};
use lasthop_emulator::directory::Directory;
use serde::Deserialize;

use super::{set, value};
use crate::failure::Failure;
use crate::output;

/// The arguments of `emulate status`.
#[derive(Args)]
pub struct Arguments {
    /// Print one JSON document: a list of emulations, each with the keys of its summary so far
    #[arg(long)]
    json: bool,
}

/// The fields of a summary that are printed.
#[derive(Deserialize)]
struct Summary {
    duration_s: f64,
    packets_taken: u64,
    packets_handed_out: u64,
    #[serde(default)]
    packets_refused: u64,
    #[serde(default)]
    connections_reset: u64,
    #[serde(default)]
    connections_refused: u64,
    dropped: BTreeMap<String, u64>,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    let mut sockets = control::sockets(&Directory::all());
    // In an emulation the user appears as root, whose directory is not the one with the socket.
    sockets.extend(set::inherited());
    sockets.sort();
    sockets.dedup();
    let (others, own): (Vec<_>, Vec<_>) =
        sockets.iter().partition(|socket| control::is_another_user_s(socket));
    let (mut all, mut silent) = (Vec::new(), Vec::new());
    for socket in &own {
        match control::status(socket) {
            Ok(status) => all.push(status),
            // The emulation has just ended.
            Err(ControlError::Unreachable { .. }) => {}
            Err(error) => silent.push(error.to_string()),
        }
    }
    if arguments.json {
        output::print_json(&all)?;
    } else if all.is_empty() && silent.is_empty() {
        let hidden = if others.is_empty() { "" } else { " as this user; to see those of others, use sudo" };
        output::print(&format!("no emulation is running{hidden}"))?;
    } else {
        all.iter().try_for_each(|status| output::print(&line(status)?))?;
    }
    if silent.is_empty() { Ok(()) } else { Err(Failure::Run(anyhow!(silent.join("; ")))) }
}

fn line(Status { about, summary }: &Status) -> Result<String, Failure> {
    let summary = serde_json::Value::Object(summary.clone());
    let Summary {
        duration_s,
        packets_taken,
        packets_handed_out,
        packets_refused,
        connections_reset,
        connections_refused,
        dropped,
    } = serde_json::from_value(summary).map_err(|error| Failure::Run(error.into()))?;
    let dropped: u64 = dropped.values().sum();
    let changed: Vec<String> =
        about.changed.iter().map(|(key, value)| format!("{key}={}", value::typed(key, value))).collect();
    let changed =
        if changed.is_empty() { String::new() } else { format!("; changed since: {}", changed.join(" ")) };
    let [link, changed, command] = [&about.link, &changed, &about.command].map(|text| on_one_line(text));
    let refused = match packets_refused {
        0 => String::new(),
        refused => format!(", {refused} lost at a device that is down or gone"),
    };
    let cut = [(connections_reset, "reset"), (connections_refused, "refused")].into_iter();
    let cut = cut.filter(|(count, _)| *count > 0);
    let cut = cut.map(|(count, what)| format!(", {} {what}", counted(count, "connection")));
    let cut = cut.collect::<Vec<_>>().concat();
    let name = about.name.as_deref().map(|name| format!(" {}", printable(name))).unwrap_or_default();
    Ok(format!(
        "{}{name}: [{link}{changed}] {command}; {duration_s:.0} s, {packets_taken} packets in, {packets_handed_out} out, {dropped} dropped{refused}{cut}",
        about.pid
    ))
}

/// The first line of a text from an emulation.
fn on_one_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let rest = if lines.next().is_some() { " ..." } else { "" };
    printable(first).into_owned() + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn connections_that_were_cut_are_counted() {
        let shown = |reset: u64, refused: u64| {
            let status = json!({
                "pid": 7, "command": "ssh", "link": "rate 1mbit", "changed": {},
                "duration_s": 5.0, "packets_taken": 9, "packets_handed_out": 8, "dropped": { "lost": 1 },
                "connections_reset": reset, "connections_refused": refused,
            });
            line(&serde_json::from_value(status).expect("a status")).expect("a line")
        };
        assert!(
            shown(2, 1).ends_with(", 1 dropped, 2 connections reset, 1 connection refused"),
            "{}",
            shown(2, 1)
        );
        assert!(shown(0, 0).ends_with(", 1 dropped"), "{}", shown(0, 0));
    }
}
