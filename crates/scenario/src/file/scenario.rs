//! Reads a scenario file: turns names into indices, fills in defaults, and checks everything.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lasthop_config::{Document, FileError, Kind};
use lasthop_sim::NodeKind;
use schemars::JsonSchema;
use serde::Deserialize;

use super::changes::ChangeTable;
use super::groups::Groups;
use super::lineup::{SchemeEntry, Traffic};
use super::link::{LinkTable, MAX_LINKS};
use super::named_files::NamedFiles;
use super::node::NodeTable;
use super::overrides::{Overrides, Since};
use super::quantity::Text;
use super::reader::{LONGEST_NAME, Reader};
use super::seeds::Seeds;
use super::tcp::TcpTable;
use super::traffic::FlowTable;
use super::trial::TryTable;
use super::wlan::WlanTable;
use super::{
    changes, check, lineup, link, nat, node, overrides, routes, seeds, sessions, traffic, trial, wlan,
};
use crate::model::{Measure, Scenario};

const MAX_FLOWS: usize = 5_000;

/// A lasthop scenario: a network, its traffic, and the schemes to compare on it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ScenarioFile {
    /// The name in reports; default: the file's name without its extension.
    name: Option<String>,
    /// A description of the scenario in one or two sentences.
    #[serde(default)]
    description: String,
    /// The longest duration of a run, above zero; default "600 s".
    duration: Option<Text<Duration>>,
    /// The time at the start of a run that is left out of goodputs, means and counts, shorter than
    /// `duration`; default "0 s". Completion times count from the start of a flow, and time series are
    /// of the whole run.
    warm_up: Option<Text<Duration>>,
    /// Whether a run ends as soon as every flow with a size or a stop, and every session with a stop,
    /// is done; default true.
    stop_when_done: Option<bool>,
    /// The number of runs per scheme, 1 to 10,000, with the seeds 1, 2, and so on; or a list of
    /// seeds. Default 10.
    seeds: Option<Seeds>,
    /// The rows of the comparison, in order: names of schemes, or "no-loss" for no scheme and no
    /// loss on any link. A row may also be a table with a label, the scheme's settings, `tcp`:
    /// TCP settings for this row, which override those of the flows, and `wlans`: by cell, the `queue`, `scheduler` and
    /// `driver-queue` of its stations for this row. Default: "none" alone.
    schemes: Option<Vec<SchemeEntry>>,
    /// The label of the row that the others are compared with. Default "none" if there is such a
    /// row, otherwise the first.
    baseline: Option<String>,
    /// The time series that `--out DIR` writes; default none.
    #[serde(default)]
    measure: Vec<Measure>,
    /// Nodes by name; 2 to 5,000.
    nodes: BTreeMap<String, NodeTable>,
    /// Links by name; at most 5,000, including those of cells.
    #[serde(default)]
    links: BTreeMap<String, LinkTable>,
    /// IEEE 802.11 cells by name.
    #[serde(default)]
    wlans: BTreeMap<String, WlanTable>,
    /// Changes of links while packets are on them; at most 10,000.
    #[serde(default)]
    changes: Vec<ChangeTable>,
    /// Flows by name; at most 5,000.
    #[serde(default)]
    flows: BTreeMap<String, FlowTable>,
    /// Sessions by name; at most 5,000. A scenario has at least one flow or session, unless it has
    /// external nodes.
    #[serde(default)]
    sessions: BTreeMap<String, sessions::Table>,
    /// TCP settings for all flows.
    #[serde(default)]
    tcp: TcpTable,
    /// How `lasthop try` runs the flows between real hosts.
    #[serde(default)]
    r#try: TryTable,
}

/// Reads and checks a scenario; `since` has the settings and changes after the first reading. The
/// result can be built under each of its schemes.
pub(super) fn read(
    document: &Document<'_>,
    base: &Path,
    overrides: &Overrides,
    named_files: &NamedFiles,
    since: Option<&Since>,
) -> Result<Scenario, FileError> {
    let (mut document, groups) = Groups::expand(document)?;
    if let Some(since) = since {
        overrides::apply(&since.set, &mut document)?;
    }
    let document = &document;
    sessions::refuse_unknown_keys(document)?;
    document.expect(Kind::Scenario)?;
    let file: ScenarioFile = document.deserialize()?;
    let mut reader =
        Reader { document, groups: &groups, base, overrides, named_files, nodes: Arc::default(), end: None };
    let duration = reader.duration(&["duration"], file.duration, Duration::from_secs(600))?;
    if duration.is_zero() {
        return Err(reader.fail(&["duration"], "the run would end at once; expected a duration above zero"));
    }
    let warm_up = reader.duration(&["warm-up"], file.warm_up, Duration::ZERO)?;
    if warm_up >= duration {
        return Err(
            reader.fail(&["warm-up"], "nothing would be measured; expected a time shorter than `duration`")
        );
    }
    if since.is_none() {
        link::check_trace_given(&reader, &file.links)?;
    }
    let given_routes: Vec<_> = routes::written(&file.nodes);
    let translators = node::translators(&file.nodes);
    let mut nodes = node::read(&reader, file.nodes)?;
    let by_name = nodes.iter().enumerate().map(|(index, node)| (node.name.clone(), (index, node.kind)));
    reader.nodes = Arc::new(by_name.collect());
    let is_emulated = nodes.iter().any(|node| node.kind == NodeKind::External);
    let is_simulated_only = !is_emulated && document.get(&["try"]).is_none();
    reader.end = (file.duration.is_some() || is_simulated_only).then_some(duration);
    let links = reader.in_order("links", file.links, MAX_LINKS)?;
    let links = links.into_iter().map(|(name, table)| link::read(&reader, &name, table));
    let mut links = links.collect::<Result<Vec<_>, _>>()?;
    let mut wlans = Vec::new();
    let cells = reader.in_order("wlans", file.wlans, MAX_LINKS)?;
    for (index, (name, table)) in cells.iter().enumerate() {
        let (wlan, links_of_it) = wlan::read(&reader, name, index, table, &nodes)?;
        wlans.push(wlan);
        links.extend(links_of_it);
        if links.len() > MAX_LINKS {
            let problem = format!("more than {MAX_LINKS} links in total; expected fewer stations");
            return Err(reader.fail(&["wlans", name, "stations"], problem));
        }
    }
    link::refuse_parallel(&reader, &links, &wlans)?;
    routes::refuse_gateways(&reader, &nodes, &links, &wlans)?;
    wlan::roaming::check_links(&reader, (&nodes, &links), &wlans)?;
    nat::read(&reader, translators, &mut nodes, (&links, &wlans))?;
    let routes = routes::read(&reader, given_routes, &links, &wlans)?;
    let tables = reader.in_order("flows", file.flows, MAX_FLOWS)?;
    let session_tables = reader.in_order("sessions", file.sessions, sessions::MAX_SESSIONS)?;
    let has_traffic = !tables.is_empty() || !session_tables.is_empty();
    if !has_traffic && !is_emulated {
        return Err(reader.fail(&["flows"], "no flows and no sessions; expected at least one"));
    }
    let flows = tables.iter().map(|(name, table)| traffic::read(&reader, name, table, &file.tcp));
    let flows = flows.collect::<Result<Vec<_>, _>>()?;
    let sessions = session_tables.iter().map(|(name, table)| sessions::read(&reader, name, table, &file.tcp));
    let sessions = sessions.collect::<Result<Vec<_>, _>>()?;
    let traffic = Traffic { flows: &tables, sessions: &session_tables, tcp_of_all: &file.tcp };
    let schemes = lineup::schemes(&reader, file.schemes, traffic, &cells)?;
    for (cell, (name, table)) in cells.iter().enumerate() {
        let in_rows = |station| {
            let own = schemes.iter().filter_map(move |scheme| scheme.waiting(cell, station));
            own.map(|waiting| &waiting.above)
        };
        let of_cell = |station: usize| std::iter::once(&wlans[cell].stations[station].queue);
        wlan::queues::refuse_without_effect(&reader, name, table, |station| {
            of_cell(station).chain(in_rows(station))
        })?;
    }
    let trial = trial::read(&reader, file.r#try, &flows, &sessions)?;
    let scenario = Scenario {
        name: name(&reader, file.name)?,
        description: description(&reader, &file.description)?,
        changes: changes::read(&reader, &file.changes, &links, since.and_then(|since| since.passed))?,
        intervals: changes::read_intervals(&reader, &file.changes, &links)?,
        files: named_files.paths(),
        duration,
        warm_up,
        stop_when_done: file.stop_when_done.unwrap_or(true),
        nodes,
        links,
        wlans,
        routes,
        flows,
        sessions,
        baseline: lineup::baseline(&reader, file.baseline, &schemes)?,
        schemes,
        seeds: seeds::read(&reader, file.seeds)?,
        measure: file.measure,
        trial,
    };
    check::scenario(&reader, &scenario)?;
    Ok(scenario)
}

fn name(reader: &Reader<'_>, name: Option<String>) -> Result<String, FileError> {
    let name = name.unwrap_or_else(|| {
        let stem = Path::new(reader.document.name()).file_stem();
        stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    });
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(
            reader.fail(&["name"], format!("expected a name of 1 to {LONGEST_NAME} characters on one line"))
        );
    }
    Ok(name)
}

/// Refuses control characters, because the description is printed on terminals.
fn description(reader: &Reader<'_>, description: &str) -> Result<String, FileError> {
    let text = description.replace("\r\n", "\n");
    match text.chars().find(|c| c.is_control() && !['\n', '\t'].contains(c)) {
        Some(control) => {
            let problem = format!("control character {control:?}; expected text in one line or several");
            Err(reader.fail(&["description"], problem))
        }
        None => Ok(text),
    }
}
