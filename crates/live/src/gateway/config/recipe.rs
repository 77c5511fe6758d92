//! From a rule's schemes and settings to what makes its agent.

use std::sync::Arc;

use lasthop_agent::{Agent, LinkSenses, Stack};
use lasthop_schemes::catalogue::find;
use lasthop_schemes::{Place, Placement, Role, Scheme, SchemeError};

use super::tables::RuleTable;
use super::{ConfigError, Reader};
use crate::gateway::plan::{AgentMaker, RulePlan};

/// A scheme with the settings that the file gives it, and where they stand.
struct Layer {
    scheme: &'static Scheme,
    settings: toml::Table,
    /// The key that names the scheme, and the key of its settings.
    named_at: Vec<String>,
    set_at: Vec<String>,
}

pub(super) fn rules(reader: &Reader<'_>, tables: &[RuleTable]) -> Result<Vec<RulePlan>, ConfigError> {
    let mut plans = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let layers = layers(reader, &index.to_string(), table)?;
        let names: Vec<&str> = layers.iter().map(|layer| layer.scheme.name).collect();
        let name = table.name.clone().unwrap_or_else(|| names.join("+"));
        let key = index.to_string();
        if !(1..=64).contains(&name.chars().count()) || name.chars().any(char::is_control) {
            let problem = "expected a name of 1 to 64 characters on one line";
            return Err(reader.fail(&["rule", &key, "name"], problem));
        }
        plans.push(RulePlan {
            name,
            traffic: reader.selector(&["rule", &key], table.selector())?,
            recipe: layers.iter().map(recipe).collect::<Vec<_>>().join(" + "),
            agent: maker(reader, &layers)?,
        });
    }
    Ok(plans)
}

/// The schemes of a rule.
fn layers(reader: &Reader<'_>, index: &str, table: &RuleTable) -> Result<Vec<Layer>, ConfigError> {
    let at = |keys: &[&str]| -> Vec<String> {
        ["rule", index].iter().chain(keys).map(|key| (*key).to_owned()).collect()
    };
    let entries: Vec<(&str, &toml::Table, Vec<String>, Vec<String>)> = match (&table.scheme, &table.stack) {
        (Some(scheme), None) => vec![(scheme, &table.settings, at(&["scheme"]), at(&["settings"]))],
        (None, Some(stack)) if table.settings.is_empty() && !stack.is_empty() => stack
            .iter()
            .enumerate()
            .map(|(layer, entry)| {
                let layer = layer.to_string();
                let keys = (at(&["stack", &layer, "scheme"]), at(&["stack", &layer, "settings"]));
                (entry.scheme.as_str(), &entry.settings, keys.0, keys.1)
            })
            .collect(),
        _ => {
            let problem = "expected a scheme, such as scheme = \"snoop\", or a stack of one or more with their own settings";
            return Err(reader.fail(&["rule", index], problem));
        }
    };
    let mut layers = Vec::new();
    for (name, settings, named_at, set_at) in entries {
        let scheme = find(name).map_err(|error| reader.fail(&strs(&named_at), error.to_string()))?;
        layers.push(Layer { scheme, settings: settings.clone(), named_at, set_at });
    }
    Ok(layers)
}

/// What makes the agent of these schemes; `None` if all of them leave the traffic alone.
fn maker(reader: &Reader<'_>, layers: &[Layer]) -> Result<Option<AgentMaker>, ConfigError> {
    let place = Place { role: Role::Edge, address: reader.surroundings.address, neighbour: None };
    let mut placements: Vec<Box<dyn Placement>> = Vec::new();
    for layer in layers {
        let placement = layer.scheme.configure(layer.settings.clone());
        let placement = placement.map_err(|error| wrong_setting(reader, layer, &error))?;
        match placement.agent(place) {
            Some(agent) => check_needs(reader, layer, agent.needs())?,
            None if layer.scheme.name == "none" => continue,
            None => {
                let problem = format!(
                    "scheme {:?} places nothing at the edge; expected one that does: see `lasthop schemes`",
                    layer.scheme.name
                );
                return Err(reader.fail(&strs(&layer.named_at), problem));
            }
        }
        placements.push(placement);
    }
    if placements.is_empty() {
        return Ok(None);
    }
    Ok(Some(Arc::new(move || -> Box<dyn Agent> {
        let mut agents: Vec<_> = placements.iter().filter_map(|placement| placement.agent(place)).collect();
        match agents.pop() {
            Some(only) if agents.is_empty() => only,
            last => {
                agents.extend(last);
                Box::new(Stack::new(agents))
            }
        }
    })))
}

fn check_needs(reader: &Reader<'_>, layer: &Layer, needs: LinkSenses) -> Result<(), ConfigError> {
    let Some(missing) = needs.missing_from(reader.surroundings.senses) else { return Ok(()) };
    let problem = format!("scheme {:?} cannot work here: {missing}", layer.scheme.name);
    Err(reader.fail(&strs(&layer.named_at), problem))
}

/// Which of several settings is wrong: each has a default, so the wrong one is wrong alone.
fn wrong_setting(reader: &Reader<'_>, layer: &Layer, error: &SchemeError) -> ConfigError {
    let mut key = strs(&layer.set_at);
    for (setting, value) in &layer.settings {
        let alone = toml::Table::from_iter([(setting.clone(), value.clone())]);
        if let Err(SchemeError::Settings { problem, .. }) = layer.scheme.configure(alone) {
            key.push(setting);
            return reader.fail(&key, problem);
        }
    }
    reader.fail(&key, error.to_string())
}

/// Scheme and settings in one line.
fn recipe(layer: &Layer) -> String {
    let settings = layer.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>();
    if settings.is_empty() {
        return layer.scheme.name.to_owned();
    }
    format!("{} {{ {} }}", layer.scheme.name, settings.join(", "))
}

fn strs(key: &[String]) -> Vec<&str> {
    key.iter().map(String::as_str).collect()
}
