//! Blocks to a scenario: the simulator, the nodes and what they send.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_sim::{Application, Opening};
use lasthop_tcp::{Config, RtoConfig};

use super::CLOCK;
use super::block::Located;
use super::error::Problem;
use super::nodes::Sort;
use super::syntax::Block;
use crate::model::{FlowModel, NodeModel, Scenario, SchemeChoice, TcpModel, TransportModel, Trial};

/// Routing keeps a table of all pairs of nodes.
const MOST_NODES: usize = 2_000;

/// A data file's network before its link states are settled.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) scenario: Scenario,
    pub(super) print_interval: Duration,
    /// `read_from_trace`.
    pub(super) read_from_trace: Located<u64>,
    /// Where `mean_exp_distrib_bad_state` of each wireless link stands, by the link's index.
    pub(super) bad_means: BTreeMap<usize, Located<f64>>,
    pub(super) sorts: Vec<Sort>,
    /// Nodes and links by id: index and line.
    nodes: BTreeMap<u64, Located<usize>>,
    pub(super) links: BTreeMap<u64, Located<usize>>,
}

impl Draft {
    pub(super) fn of(blocks: &[Block<'_>], last_line: usize) -> Result<Self, Problem> {
        let mut simulators = blocks.iter().filter(|block| block.component == "simulator");
        let expected = "expected one component `simulator`";
        let simulator = simulators
            .next()
            .ok_or_else(|| Problem::new(last_line, "simulator", format!("missing; {expected}")))?;
        if let Some(second) = simulators.next() {
            let problem = format!("a second one, after line {}; {expected}", simulator.line);
            return Err(Problem::new(second.line, "simulator", problem));
        }
        let mut draft = Self::with_simulator(simulator)?;
        for block in blocks {
            draft.add_node(block)?;
        }
        let mut refused = None;
        for block in blocks {
            match block.component {
                "wired_link" => draft.add_wired_link(block)?,
                "wireless_link" => draft.add_wireless_link(block)?,
                "shared_links" => refused = draft.share_links(block)?.or(refused),
                _ => {}
            }
        }
        let parts = draft.parts();
        for block in blocks {
            draft.add_flow(block, &parts)?;
        }
        if draft.scenario.flows.is_empty() {
            let expected = "nobody sends anything; expected a wired_source_node or a wireless_source_node";
            return Err(Problem::new(last_line, "", expected));
        }
        refused.map_or(Ok(draft), Err)
    }

    fn with_simulator(block: &Block<'_>) -> Result<Self, Problem> {
        block.has_only(&["system_simulation_time", "print_interval", "read_from_trace", "scheme"])?;
        let duration = block.millis("system_simulation_time", 1)?;
        let print_interval = block.millis("print_interval", 1)?;
        let read_from_trace = block.whole("read_from_trace", 0..=2, "")?;
        let scheme = block.get("scheme");
        let scheme = SchemeChoice::new(scheme.map_or("none", |scheme| scheme.value), toml::Table::new())
            .map_err(|error| match scheme {
                Some(attribute) => block.problem(attribute, error.to_string()),
                None => Problem::new(block.line, block.component, error.to_string()),
            })?;
        let scenario = Scenario {
            name: String::new(),
            description: String::new(),
            files: Vec::new(),
            duration,
            stop_when_done: false,
            nodes: Vec::new(),
            links: Vec::new(),
            wlans: Vec::new(),
            routes: Vec::new(),
            flows: Vec::new(),
            schemes: vec![scheme],
            baseline: 0,
            seeds: vec![1],
            measure: Vec::new(),
            trial: Trial::default(),
        };
        Ok(Self {
            scenario,
            print_interval,
            read_from_trace,
            bad_means: BTreeMap::new(),
            sorts: Vec::new(),
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
        })
    }

    fn add_node(&mut self, block: &Block<'_>) -> Result<(), Problem> {
        let Some(sort) = Sort::of(block.component) else { return Ok(()) };
        if sort.is_source() {
            block.has_only(&[
                "node_id",
                "dest_id",
                "num_of_pkts_to_send",
                "pkt_size",
                "recv_wnd_size",
                "start_time",
            ])?;
        } else if sort.is_router() {
            block.has_only(&["node_id", "buffer_size", "processing_delay"])?;
        } else {
            block.has_only(&["node_id"])?;
        }
        let id = block.id("node_id")?;
        let (buffer, processing_delay) = if sort.is_router() {
            let buffer = block.whole("buffer_size", 0..=1 << 40, " octets")?;
            (Some(buffer.value), block.millis("processing_delay", 0)?)
        } else {
            (None, Duration::ZERO)
        };
        let index = self.scenario.nodes.len();
        if index == MOST_NODES {
            return Err(Problem::new(
                block.line,
                block.component,
                format!("expected at most {MOST_NODES} nodes"),
            ));
        }
        let entry = Located { value: index, line: id.line };
        if let Some(first) = self.nodes.insert(id.value, entry) {
            let problem = format!(
                "{} is the id of another node, in line {}; expected one of its own",
                id.value, first.line
            );
            return Err(block.problem_at(id.line, "node_id", problem));
        }
        self.sorts.push(sort);
        self.scenario.nodes.push(NodeModel {
            name: id.value.to_string(),
            kind: sort.kind(),
            role: sort.role(),
            processing_delay,
            buffer,
            position: lasthop_sim::wifi::Position::default(),
        });
        Ok(())
    }

    fn add_flow(&mut self, block: &Block<'_>, parts: &[usize]) -> Result<(), Problem> {
        if !Sort::of(block.component).is_some_and(Sort::is_source) {
            return Ok(());
        }
        let from = self.end(block, "node_id")?;
        let to = self.destination(block, from, parts)?;
        let packets = block.whole("num_of_pkts_to_send", 1..=1_000_000_000_000, "")?.value;
        let size = block.whole("pkt_size", 1..=65_495, " octets")?.value;
        let window = block.whole("recv_wnd_size", 1..=1 << 20, " KB")?.value;
        let start =
            if block.get("start_time").is_some() { block.millis("start_time", 0)? } else { Duration::ZERO };
        let tcp = Config {
            mss: size as u32,
            window: (window * 1024) as u32,
            rto: RtoConfig { granularity: CLOCK, minimum: Duration::from_secs(1), ..RtoConfig::default() },
            ..Config::default()
        };
        let names = [from, to].map(|node| self.scenario.nodes[node].name.as_str()).join("-");
        self.scenario.flows.push(FlowModel {
            name: names,
            from,
            to,
            start,
            stop: None,
            application: Application::transfer(Some(packets * size)),
            transport: TransportModel::Tcp(TcpModel {
                opening: Opening::Established,
                sender: tcp.clone(),
                receiver: tcp,
            }),
        });
        Ok(())
    }

    /// The sink that a source sends to.
    fn destination(&self, block: &Block<'_>, from: usize, parts: &[usize]) -> Result<usize, Problem> {
        let to = self.end(block, "dest_id")?;
        let name = &self.scenario.nodes[to].name;
        let line = block.id("dest_id")?.line;
        let problem = |problem: String| block.problem_at(line, "dest_id", problem);
        if !self.sorts[to].is_sink() {
            return Err(problem(format!(
                "node {name} is no sink; expected a wired_sink_node or a wireless_sink_node"
            )));
        }
        if let Some(other) = self.scenario.flows.iter().find(|flow| flow.to == to) {
            let other = &self.scenario.nodes[other.from].name;
            return Err(problem(format!("node {other} sends to node {name} already; a sink has one source")));
        }
        if parts[from] != parts[to] {
            return Err(problem(format!("there is no way to node {name}; expected links that lead there")));
        }
        Ok(to)
    }

    /// The node whose id an attribute has.
    pub(super) fn end(&self, block: &Block<'_>, key: &str) -> Result<usize, Problem> {
        let id = block.id(key)?;
        let node = self.nodes.get(&id.value).map(|node| node.value);
        node.ok_or_else(|| {
            block.problem_at(
                id.line,
                key,
                format!("there is no node {}; expected the id of a node", id.value),
            )
        })
    }
}
