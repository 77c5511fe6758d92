//! The gateway of a trial: the daemon itself, in the edge's namespace.

use lasthop_agent::LinkSenses;
use lasthop_scenario::{Link, Scenario};
use toml::{Table, Value};

use super::TrialError;
use super::site::{Site, device_name, ends};
use crate::gateway::{Gateway, Start, config};

/// Starts a gateway with one scheme at the edge of a site, on the best backend that there is.
pub(super) fn start(
    scenario: &Scenario,
    edge: usize,
    site: &Site,
    scheme: &str,
    settings: &Table,
) -> Result<Gateway, TrialError> {
    let file = file(scenario, edge, scheme, settings).to_string();
    let config = config::parse(&file, "the scenario's scheme", LinkSenses::empty());
    let config = config.map_err(|error| TrialError::Gateway(error.to_string()))?;
    Ok(Start { config, file: None, owns_process: false }.inside(&site.hosts[edge])?)
}

/// The file that the daemon would be given: the edge's interfaces, the wireless ones as radio, and one rule.
fn file(scenario: &Scenario, edge: usize, scheme: &str, settings: &Table) -> Table {
    let mut ports = Table::new();
    for end in ends(scenario).filter(|end| end.node == edge) {
        let link = &scenario.links[end.link];
        let side = match link.link {
            Link::Wireless { .. } => "radio",
            Link::Wired(_) => "core",
        };
        let names = ports.entry(side).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(names) = names {
            names.push(device_name(link, end.link).into());
        }
    }
    let rule = table([("scheme", scheme.into()), ("settings", settings.clone().into())]);
    table([
        ("ports", ports.into()),
        ("rule", vec![Value::from(rule)].into()),
        ("control", table([("socket", "off".into())]).into()),
        ("metrics", table([("listen", "off".into())]).into()),
    ])
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
