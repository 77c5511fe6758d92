//! Converts the tables of rules to rules that are ready to run.

use lasthop_agent::LinkSenses;
use lasthop_config::FileError;
use lasthop_schemes::catalog::CATALOG;
use lasthop_schemes::stack::StackError;
use lasthop_schemes::{Scheme, SchemeStack};

use super::reader::Reader;
use super::tables::RuleTable;
use crate::plan::{RuleError, RulePlan, RuleProblem};
use crate::selector::Selector;

pub(super) fn rules(reader: &Reader<'_>, tables: &[RuleTable]) -> Result<Vec<RulePlan>, FileError> {
    tables.iter().enumerate().map(|(index, table)| rule(reader, &index.to_string(), table)).collect()
}

fn rule(reader: &Reader<'_>, index: &str, table: &RuleTable) -> Result<RulePlan, FileError> {
    let stack = stack(reader, index, table)?;
    let traffic = reader.selector(&["rule", index], table.selector())?;
    let mut rule = RulePlan::new(&stack, traffic, reader.surroundings).map_err(|error| {
        let layer = error.layer.to_string();
        let key = [&["rule", index], &layer_key(table, &layer)[..], &["scheme"]].concat();
        reader.fail(&key, refusal(&error))
    })?;
    if let Some(name) = &table.name {
        rule.name.clone_from(name);
    }
    if !(1..=64).contains(&rule.name.chars().count()) || rule.name.chars().any(char::is_control) {
        let problem = "expected a name of 1 to 64 characters on one line";
        return Err(reader.fail(&["rule", index, "name"], problem));
    }
    Ok(rule)
}

/// The reason why a scheme cannot run in a gateway, with the schemes that can.
fn refusal(error: &RuleError) -> String {
    let RuleProblem::Blind { missing, .. } = &error.problem else { return error.to_string() };
    let why = if missing.contains(LinkSenses::LINK_OPTIONS) {
        "which have no encoding on a real wire"
    } else if *missing == LinkSenses::FRAME_FATE {
        "which Wi-Fi drivers report if [ports] tx-status is not \"off\""
    } else {
        "which no driver of a real link reports to a gateway"
    };
    let others: Vec<&str> =
        CATALOG.iter().filter(|scheme| works_blind(scheme)).map(|scheme| scheme.name).collect();
    format!("{error}, {why}; expected one that requires nothing from the link layer: {}", others.join(", "))
}

/// Whether a scheme has an agent at the edge that needs no information from the link layer.
fn works_blind(scheme: &Scheme) -> bool {
    let stack = SchemeStack::new([(scheme.name, toml::Table::new())]);
    let rule = stack
        .ok()
        .and_then(|stack| RulePlan::new(&stack, Selector::default(), LinkSenses::empty().into()).ok());
    rule.is_some_and(|rule| rule.agent.is_some())
}

/// The key of a layer, relative to its rule.
fn layer_key<'a>(table: &RuleTable, layer: &'a str) -> Vec<&'a str> {
    if table.stack.is_some() { vec!["stack", layer] } else { Vec::new() }
}

/// The schemes of a rule.
fn stack(reader: &Reader<'_>, index: &str, table: &RuleTable) -> Result<SchemeStack, FileError> {
    let layers: Vec<(&str, toml::Table)> = match (&table.scheme, &table.stack) {
        (Some(scheme), None) => vec![(scheme, table.settings.clone())],
        (None, Some(stack)) if table.settings.is_empty() && !stack.is_empty() => {
            stack.iter().map(|layer| (layer.scheme.as_str(), layer.settings.clone())).collect()
        }
        _ => {
            let problem = "expected a scheme, such as scheme = \"snoop\", or a stack of one or more schemes, each with its own settings";
            return Err(reader.fail(&["rule", index], problem));
        }
    };
    SchemeStack::new(layers).map_err(|StackError { layer, setting, error }| {
        let layer = layer.to_string();
        let mut key = [&["rule", index], &layer_key(table, &layer)[..]].concat();
        // A rule has keys of its own, so its scheme's settings are a table; all keys of a layer are
        // settings.
        let is_layer = table.stack.is_some();
        match (&setting, error.problem()) {
            (Some(setting), Some(_)) if is_layer => key.push(setting),
            (Some(setting), Some(_)) => key.extend(["settings", setting]),
            (None, Some(_)) if is_layer => {}
            (None, Some(_)) => key.push("settings"),
            // A layer may consist of its scheme's name only.
            _ if is_layer && !reader.document.has(&[&key[..], &["scheme"]].concat()) => {}
            _ => key.push("scheme"),
        }
        reader.fail(&key, error.problem().map_or_else(|| error.to_string(), str::to_owned))
    })
}
