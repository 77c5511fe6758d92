//! From the tables of a file to a [`Scenario`]: names become indices, defaults are filled in,
//! everything is checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lasthop_schemes::Role;
use lasthop_sim::NodeKind;
use lasthop_sim::wifi::Position;

use super::document::Document;
use super::error::ScenarioError;
use super::quantity::Text;
use super::tables::{Kind, LinkTable, Medium, NodeTable, RoleName, ScenarioFile};
use super::trace::Traces;
use super::{Overrides, lineup, link, routes, traffic, trial, wlan};
use crate::build::{BuildError, Network, of_stations};
use crate::model::{Link, LinkModel, NodeModel, Scenario, TransportModel, WlanModel};

/// Routes take memory by the square of the number of nodes: 2,000 nodes take 8 MB.
const MOST_NODES: usize = 2_000;
pub(super) const MOST_LINKS: usize = 5_000;
const MOST_FLOWS: usize = 5_000;
/// Octets of the headers of IPv4 and TCP; options are taken from the segment.
const HEADERS: u32 = 40;
/// The same of IPv4 and UDP.
const UDP_HEADERS: u32 = 28;
const LONGEST_NAME: usize = 64;

/// Longest delay of anything in the network.
pub(super) const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// What reading a scenario needs to know.
pub(super) struct Reader<'a> {
    pub(super) document: &'a Document<'a>,
    pub(super) base: &'a Path,
    pub(super) overrides: &'a Overrides,
    pub(super) traces: &'a Traces,
    /// Index of each node.
    pub(super) nodes: BTreeMap<String, (usize, NodeKind)>,
}

/// The path of a key: its tables' names and its own.
pub(super) type Key<'a> = [&'a str];

/// Reads and checks a scenario; what was read can be built under each of its schemes.
pub(super) fn read(
    document: &Document<'_>,
    base: &Path,
    overrides: &Overrides,
    traces: &Traces,
) -> Result<Scenario, ScenarioError> {
    let document = &document.with_groups_written_out()?;
    let file: ScenarioFile = document.deserialize()?;
    let mut reader = Reader { document, base, overrides, traces, nodes: BTreeMap::new() };
    let duration = reader.duration(&["duration"], file.duration, Duration::from_secs(600))?;
    if duration.is_zero() {
        return Err(reader.fail(&["duration"], "a run that ends at once; expected a duration above zero"));
    }
    reader.check_traces(&file.links)?;
    let given_routes: Vec<_> = routes::written(&file.nodes);
    let nodes = reader.nodes(file.nodes)?;
    let links = reader.in_order("links", file.links, MOST_LINKS)?;
    let links = links.into_iter().map(|(name, table)| link::read(&reader, &name, table));
    let mut links = links.collect::<Result<Vec<_>, _>>()?;
    let mut wlans = Vec::new();
    for (index, (name, table)) in reader.in_order("wlans", file.wlans, MOST_LINKS)?.into_iter().enumerate() {
        let (wlan, links_of_it) = wlan::read(&reader, &name, index, &table, &nodes)?;
        wlans.push(wlan);
        links.extend(links_of_it);
        if links.len() > MOST_LINKS {
            let problem = format!("more than {MOST_LINKS} links in all; expected fewer stations");
            return Err(reader.fail(&["wlans", &name, "stations"], problem));
        }
    }
    reader.refuse_parallel(&links, &wlans)?;
    routes::refuse_gateways(&reader, &nodes, &links, &wlans)?;
    let routes = routes::read(&reader, given_routes, &links, &wlans)?;
    let flows = reader.in_order("flows", file.flows, MOST_FLOWS)?;
    if flows.is_empty() && !nodes.iter().any(|node| node.kind == NodeKind::External) {
        return Err(reader.fail(&["flows"], "no flows; expected at least one"));
    }
    let tables = flows;
    let flows = tables.iter().map(|(name, table)| traffic::read(&reader, name, table, &file.tcp));
    let flows = flows.collect::<Result<Vec<_>, _>>()?;
    let schemes = lineup::schemes(&reader, file.schemes, &tables, &file.tcp)?;
    let trial = trial::read(&reader, file.r#try, &flows)?;
    let scenario = Scenario {
        name: reader.name(file.name)?,
        description: file.description,
        files: traces.paths(),
        duration,
        stop_when_done: file.stop_when_done.unwrap_or(true),
        nodes,
        links,
        wlans,
        routes,
        flows,
        baseline: lineup::baseline(&reader, file.baseline, &schemes)?,
        schemes,
        seeds: lineup::seeds(&reader, file.seeds)?,
        measure: file.measure,
        trial,
    };
    reader.check(&scenario)?;
    Ok(scenario)
}

impl Reader<'_> {
    /// An error about a key.
    pub(super) fn fail(&self, key: &Key<'_>, problem: impl Into<String>) -> ScenarioError {
        self.document.error(key, problem)
    }

    /// A file that the scenario names.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// A duration with a default.
    pub(super) fn duration(
        &self,
        key: &Key<'_>,
        value: Option<Text<Duration>>,
        default: Duration,
    ) -> Result<Duration, ScenarioError> {
        self.duration_in(key, value, default, Duration::ZERO, Duration::MAX)
    }

    /// A duration with a default and a range.
    pub(super) fn duration_in(
        &self,
        key: &Key<'_>,
        value: Option<Text<Duration>>,
        default: Duration,
        least: Duration,
        most: Duration,
    ) -> Result<Duration, ScenarioError> {
        Ok(self.duration_if_given(key, value, least, most)?.unwrap_or(default))
    }

    /// A duration with a range, whose default is not known here.
    pub(super) fn duration_if_given(
        &self,
        key: &Key<'_>,
        value: Option<Text<Duration>>,
        least: Duration,
        most: Duration,
    ) -> Result<Option<Duration>, ScenarioError> {
        let Some(Text(duration)) = value else { return Ok(None) };
        if (least..=most).contains(&duration) {
            return Ok(Some(duration));
        }
        let shown = lasthop_packet::units::format_duration;
        let problem =
            format!("{} is out of range; expected {} to {}", shown(duration), shown(least), shown(most));
        Err(self.fail(key, problem))
    }

    /// The index of a host that a flow names.
    pub(super) fn host(&self, key: &Key<'_>, name: &str) -> Result<usize, ScenarioError> {
        match self.node(key, name)? {
            (index, NodeKind::Host) => Ok(index),
            (_, kind) => {
                let kind = if kind == NodeKind::Router { "a router" } else { "an external node" };
                Err(self.fail(key, format!("{name:?} is {kind}; expected a host")))
            }
        }
    }

    /// The index of a node that somebody names.
    pub(super) fn node(&self, key: &Key<'_>, name: &str) -> Result<(usize, NodeKind), ScenarioError> {
        self.nodes.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = self.nodes.keys().take(20).map(String::as_str).collect();
            let more = if self.nodes.len() > known.len() { ", ..." } else { "" };
            self.fail(key, format!("there is no node {name:?}; there are: {}{more}", known.join(", ")))
        })
    }

    fn name(&self, name: Option<String>) -> Result<String, ScenarioError> {
        let name = name.unwrap_or_else(|| {
            let stem = Path::new(self.document.name()).file_stem();
            stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
        });
        if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(self
                .fail(&["name"], format!("expected a name of 1 to {LONGEST_NAME} characters on one line")));
        }
        Ok(name)
    }

    /// The members of a table in the order of the file, with their names checked: they become file
    /// names and labels.
    fn in_order<T>(
        &self,
        table: &str,
        members: BTreeMap<String, T>,
        most: usize,
    ) -> Result<Vec<(String, T)>, ScenarioError> {
        if members.len() > most {
            let problem = format!("{} of them; expected at most {most}", members.len());
            return Err(self.fail(&[table], problem));
        }
        for name in members.keys() {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
                let problem = format!(
                    "{:?} is no name; expected 1 to {LONGEST_NAME} letters, digits, - and _",
                    name.chars().take(LONGEST_NAME).collect::<String>()
                );
                return Err(self.fail(&[table, name], problem));
            }
        }
        let mut members: Vec<(String, T)> = members.into_iter().collect();
        members.sort_by_cached_key(|(name, _)| (self.document.position(&[table, name]), number(name)));
        Ok(members)
    }

    fn nodes(&mut self, tables: BTreeMap<String, NodeTable>) -> Result<Vec<NodeModel>, ScenarioError> {
        let tables = self.in_order("nodes", tables, MOST_NODES)?;
        if tables.len() < 2 {
            return Err(self.fail(&["nodes"], format!("{} of them; expected at least 2", tables.len())));
        }
        let mut nodes = Vec::new();
        for (index, (name, table)) in tables.into_iter().enumerate() {
            let kind = match table.kind {
                Kind::Host => NodeKind::Host,
                Kind::Router => NodeKind::Router,
                Kind::External => NodeKind::External,
            };
            let role = table.role.map(|role| match role {
                RoleName::FixedHost => Role::FixedHost,
                RoleName::Edge => Role::Edge,
                RoleName::MobileHost => Role::MobileHost,
                RoleName::Relay => Role::Relay,
                RoleName::Router => Role::Router,
            });
            let processing_delay = self.duration_in(
                &["nodes", &name, "processing-delay"],
                table.processing_delay,
                Duration::ZERO,
                Duration::ZERO,
                LONGEST_DELAY,
            )?;
            self.nodes.insert(name.clone(), (index, kind));
            let buffer = table.buffer.map(|Text(buffer)| buffer.0);
            let position = table
                .position
                .map_or_else(Position::default, |[Text(east), Text(north)]| Position::new(east.0, north.0));
            nodes.push(NodeModel { name, kind, role, processing_delay, buffer, position });
        }
        Ok(nodes)
    }

    /// Of two links between the same nodes the second would never carry anything.
    fn refuse_parallel(&self, links: &[LinkModel], wlans: &[WlanModel]) -> Result<(), ScenarioError> {
        let mut joined = BTreeMap::new();
        for link in links {
            let (first, second) = link.ends;
            if let Some(other) = joined.insert((first.min(second), first.max(second)), link.name()) {
                let problem = format!(
                    "link {other:?} joins these two nodes already; routes count hops and would never use another"
                );
                return Err(match link.link {
                    Link::Radio { wlan, .. } => self.fail(&["wlans", &wlans[wlan].name, "stations"], problem),
                    _ => self.fail(&["links", link.name(), "between"], problem),
                });
            }
        }
        Ok(())
    }

    /// A trace on the command line is for a link that follows one.
    fn check_traces(&self, links: &BTreeMap<String, LinkTable>) -> Result<(), ScenarioError> {
        let Some(trace) = &self.overrides.trace else { return Ok(()) };
        let follows = |link: &LinkTable| link.kind == Medium::Wireless && link::follows_a_trace(link);
        if links.values().any(follows) {
            return self
                .traces
                .get(trace)
                .map(drop)
                .map_err(|problem| ScenarioError::of_file("--trace", problem));
        }
        Err(self.fail(&["links"], "--trace was given, but no link has rate = \"trace\""))
    }

    /// What shows in the whole scenario only.
    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let network = Network::of(scenario).map_err(|error| self.cannot_run(&error))?;
        if let Some(seed) = scenario.seeds.first() {
            of_stations(scenario, *seed).map_err(|error| self.cannot_run(&error))?;
        }
        for (index, scheme) in scenario.schemes.iter().enumerate() {
            if let Err(error) = network.agents(scheme) {
                return Err(self.fail(&["schemes", &index.to_string()], error.to_string()));
            }
        }
        self.refuse_large_datagrams(scenario, &network)
    }

    /// An error about the key that has what cannot be built.
    fn cannot_run(&self, error: &BuildError) -> ScenarioError {
        let problem = error.to_string();
        match error {
            BuildError::NoRoute { flow, .. } => self.fail(&["flows", flow, "to"], problem),
            BuildError::Circle { node, destination } => {
                self.fail(&["nodes", node, "routes", destination], problem)
            }
            BuildError::Placement { wlan, .. } => self.fail(&["wlans", wlan, "placement", "apart"], problem),
            BuildError::OnDemand { node, .. } => self.fail(&["nodes", node], problem),
            BuildError::RealHosts { wlan } => self.fail(&["wlans", wlan, "routing"], problem),
            BuildError::Agent { .. } => self.fail(&["schemes"], problem),
        }
    }

    /// A cell carries datagrams up to its MTU, and nothing here fragments.
    fn refuse_large_datagrams(
        &self,
        scenario: &Scenario,
        network: &Network<'_>,
    ) -> Result<(), ScenarioError> {
        if scenario.wlans.is_empty() {
            return Ok(());
        }
        for (index, flow) in scenario.flows.iter().enumerate() {
            for (row, scheme) in scenario.schemes.iter().enumerate() {
                let datagram = match &flow.transport {
                    TransportModel::Tcp(tcp) => scheme.tcp_of(index, tcp).sender.mss.saturating_add(HEADERS),
                    TransportModel::Udp => flow.application.message().saturating_add(UDP_HEADERS),
                };
                if datagram <= wlan::MTU || !network.crosses_a_wlan(flow) {
                    continue;
                }
                let row = row.to_string();
                let keys: [&Key<'_>; 4] = [
                    &["flows", &flow.name, "application", "message"],
                    &["schemes", &row, "tcp", "segment"],
                    &["flows", &flow.name, "tcp", "segment"],
                    &["tcp", "segment"],
                ];
                let written = keys.into_iter().find(|key| self.document.get(key).is_some());
                let problem = format!(
                    "flow {:?} makes datagrams of {datagram} octets with their headers, over the {} that an 802.11 cell on their way \
                     carries; expected at most \"{} B\" without headers",
                    flow.name,
                    wlan::MTU,
                    wlan::MTU - if flow.tcp().is_some() { HEADERS } else { UDP_HEADERS }
                );
                return Err(self.fail(written.unwrap_or(&["flows", &flow.name]), problem));
            }
        }
        Ok(())
    }
}

/// The number at the end of a name: members of a group stand in one place of the file, and
/// "station-10" comes after "station-9".
fn number(name: &str) -> u32 {
    name.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}
