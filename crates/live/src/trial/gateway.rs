//! The gateway of a trial: the daemon itself, in the edge's namespace, and what its link layers tell it.

use lasthop_agent::LinkSenses;
use lasthop_scenario::Scenario;
use lasthop_sim::{LinkId, NodeId};
use toml::{Table, Value};

use super::TrialError;
use super::site::{End, Site, device_name, ends};
use crate::emulator::Emulator;
use crate::gateway::config::{self, Surroundings};
use crate::gateway::plan::AgentMaker;
use crate::gateway::{Gateway, Start};

/// Fates of frames that may wait for the packet loop. A hop of 100 Mbit/s makes some 8000 a second: what a loop misses that is held up
/// for 100 ms fits, and a turn that takes all of it is short.
const FATES: usize = 1024;

/// Starts a gateway with one scheme at the edge of a site, on the best backend that there is; `agent` in place of the scheme's own, if
/// there is one. Also says what the agent needs to see of the link layer.
pub(super) fn start(
    scenario: &Scenario,
    edge: usize,
    site: &Site,
    scheme: &str,
    settings: &Table,
    agent: Option<AgentMaker>,
) -> Result<(Gateway, LinkSenses), TrialError> {
    let file = file(scenario, edge, scheme, settings).to_string();
    let surroundings = Surroundings { senses: senses(scenario, edge), address: site.address(edge) };
    let config = config::parse(&file, "the scenario's scheme", surroundings);
    let mut config = config.map_err(|error| TrialError::Gateway(error.to_string()))?;
    if let (Some(_), Some(rule)) = (&agent, config.plan.rules.first_mut()) {
        rule.agent = agent;
    }
    let needs = config.plan.needs();
    let gateway = Start { config, file: None, owns_process: false }.inside(&site.hosts[edge])?;
    Ok((gateway, needs))
}

/// What the edge's link layers have to offer: what all of its wireless ones have.
fn senses(scenario: &Scenario, edge: usize) -> LinkSenses {
    let reports = |end: End| {
        let link = &scenario.links[end.link].link;
        link.is_wireless().then(|| link.reports_fate())
    };
    let all = ends(scenario).filter(|end| end.node == edge).filter_map(reports).all(|reports| reports);
    if all { LinkSenses::FRAME_FATE } else { LinkSenses::empty() }
}

/// Has the gateway hear the fates of the frames that the edge transmits on its wireless links; `transmitters` are what
/// transmits for it on them in the model. What becomes of the clients' own frames is not for an access point to know.
pub(super) fn listen(
    gateway: &Gateway,
    emulator: &mut Emulator,
    transmitters: Vec<(NodeId, LinkId)>,
) -> Result<(), TrialError> {
    let teller = gateway.link_layer(FATES)?;
    emulator.on_fates(move |fate| {
        if transmitters.contains(&(fate.from, fate.link)) {
            teller.tell(&fate.event);
        }
    });
    Ok(())
}

/// The file that the daemon would be given: the edge's interfaces, the wireless ones as radio, and one rule.
fn file(scenario: &Scenario, edge: usize, scheme: &str, settings: &Table) -> Table {
    let mut ports = Table::new();
    for end in ends(scenario).filter(|end| end.node == edge) {
        let link = &scenario.links[end.link];
        let side = if link.link.is_wireless() { "radio" } else { "core" };
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
        // It is part of the apparatus, as the emulator is: what it is late by, the run is late by.
        ("process", table([("realtime", true.into())]).into()),
        ("metrics", table([("listen", "off".into())]).into()),
    ])
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
