//! The rows of the comparison: schemes, and the baseline.

mod flavour;
mod row;

use std::collections::BTreeMap;

use super::reader::Reader;
use super::tcp::TcpTable;
use super::wlan::WlanTable;
use super::wlan::queues::{self, RowTable};
use crate::model::{SchemeChoice, Waiting};
use lasthop_config::FileError;
use lasthop_config::words::did_you_mean;
use lasthop_schemes::layer_entry::LayerEntry;
use lasthop_schemes::stack::StackError;
use lasthop_schemes::{SchemeError, SchemeStack};

pub(super) use flavour::Traffic;
pub(super) use row::SchemeEntry;

const MAX_SCHEMES: usize = 100;

pub(super) fn schemes(
    reader: &Reader<'_>,
    entries: Option<Vec<SchemeEntry>>,
    traffic: Traffic<'_>,
    cells: &[(String, WlanTable)],
) -> Result<Vec<SchemeChoice>, FileError> {
    let entries = entries.unwrap_or_else(|| vec![SchemeEntry::named("none")]);
    if !(1..=MAX_SCHEMES).contains(&entries.len()) {
        let problem = format!("{} schemes; expected 1 to {MAX_SCHEMES}", entries.len());
        return Err(reader.fail(&["schemes"], problem));
    }
    let mut schemes: Vec<SchemeChoice> = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let index = index.to_string();
        let choice = choice(reader, &index, entry, traffic, cells)?;
        if schemes.iter().any(|other| other.label == choice.label) {
            let problem = format!(
                "duplicate label {:?}; expected another label: {{ scheme = ..., label = ... }}",
                choice.label
            );
            return Err(reader.fail(&["schemes", &index], problem));
        }
        schemes.push(choice);
    }
    Ok(schemes)
}

/// The path of a key in an entry of the list.
fn key<'a>(index: &'a str, key: &'a str) -> [&'a str; 3] {
    ["schemes", index, key]
}

fn choice(
    reader: &Reader<'_>,
    index: &str,
    entry: SchemeEntry,
    traffic: Traffic<'_>,
    cells: &[(String, WlanTable)],
) -> Result<SchemeChoice, FileError> {
    let SchemeEntry { layers, is_stack, label, tcp, wlans } = entry;
    let names: Vec<&str> = layers.iter().map(|layer| layer.scheme.as_str()).collect();
    let scheme = names.join("+");
    let choice = match &layers[..] {
        [LayerEntry { scheme, settings }] if !is_stack && scheme == SchemeChoice::NO_LOSS => {
            if let Some(setting) = settings.keys().next() {
                let problem = "no-loss has no settings; only a label is allowed";
                return Err(reader.fail(&key(index, setting), problem));
            }
            SchemeChoice::no_loss()
        }
        _ => {
            let stack = layers.iter().map(|layer| (layer.scheme.as_str(), layer.settings.clone()));
            let stack = SchemeStack::new(stack).map_err(|wrong| misplaced(reader, index, is_stack, wrong))?;
            SchemeChoice::from_stack(stack)
        }
    };
    let flavour = tcp.as_ref().and_then(TcpTable::flavour);
    let choice = match &tcp {
        Some(tcp) => choice
            .with_tcp(flavour::of_flows(reader, index, tcp, traffic)?)
            .with_tcp_of_sessions(flavour::of_sessions(reader, index, tcp, traffic)?)
            .with_tcp_keys(reader.document.keys(&key(index, "tcp")).map(str::to_owned).collect()),
        None => choice,
    };
    let choice =
        if wlans.is_empty() { choice } else { choice.with_queues(of_row(reader, index, &wlans, cells)?) };
    match label {
        None => Ok(match flavour {
            Some(flavor) if scheme == "none" => choice.labelled(flavor),
            Some(flavor) => choice.labelled(format!("{flavor} + {scheme}")),
            None => choice,
        }),
        Some(label) if is_label(&label) => Ok(choice.labelled(label)),
        Some(_) => {
            let problem = "expected a label of 1 to 64 characters on one line, without commas";
            Err(reader.fail(&key(index, "label"), problem))
        }
    }
}

/// Where the packets of the stations of each cell wait in a row.
fn of_row(
    reader: &Reader<'_>,
    index: &str,
    rows: &BTreeMap<String, RowTable>,
    cells: &[(String, WlanTable)],
) -> Result<Vec<Option<Vec<Waiting>>>, FileError> {
    if let Some(unknown) = rows.keys().find(|name| !cells.iter().any(|(cell, _)| cell == *name)) {
        let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
        let meant = did_you_mean(unknown, &names);
        let problem = format!("no 802.11 cell has this name{meant}; expected the name of one of `wlans`");
        return Err(reader.fail(&["schemes", index, "wlans", unknown], problem));
    }
    let of_cell = |(name, table): &(String, WlanTable)| {
        let row = rows.get(name);
        row.map(|row| queues::of_cell(reader, name, table, Some((index, row)))).transpose()
    };
    cells.iter().map(of_cell).collect()
}

/// Whether a label is valid; the command line separates labels by commas.
fn is_label(label: &str) -> bool {
    (1..=64).contains(&label.chars().count()) && !label.chars().any(|c| c.is_control() || c == ',')
}

/// An error in a stack, at its place in the file.
fn misplaced(reader: &Reader<'_>, index: &str, is_stack: bool, wrong: StackError) -> FileError {
    let StackError { layer, setting, error } = wrong;
    let layer = layer.to_string();
    let entry = if is_stack { vec!["schemes", index, "stack", &layer] } else { vec!["schemes", index] };
    match (&setting, error.problem()) {
        (Some(setting), Some(problem)) => reader.fail(&[&entry[..], &[setting]].concat(), problem),
        (None, Some(problem)) => reader.fail(&entry, problem),
        (_, None) => {
            let named = [&entry[..], &["scheme"]].concat();
            // An entry that is only a name has no such key.
            let place = if reader.document.get(&named).is_some() { &named } else { &entry };
            let and_no_loss = if matches!(error, SchemeError::Unknown { .. }) && !is_stack {
                format!(", and {}", SchemeChoice::NO_LOSS)
            } else {
                String::new()
            };
            reader.fail(place, format!("{error}{and_no_loss}"))
        }
    }
}

pub(super) fn baseline(
    reader: &Reader<'_>,
    label: Option<String>,
    schemes: &[SchemeChoice],
) -> Result<usize, FileError> {
    let position = |label: &str| schemes.iter().position(|scheme| scheme.label == label);
    let Some(label) = label else { return Ok(position("none").unwrap_or(0)) };
    position(&label).ok_or_else(|| {
        let labels: Vec<&str> = schemes.iter().map(|scheme| scheme.label.as_str()).collect();
        let meant = did_you_mean(&label, &labels);
        let problem =
            format!("{label:?} is not one of the schemes{meant}; expected one of: {}", labels.join(", "));
        reader.fail(&["baseline"], problem)
    })
}
