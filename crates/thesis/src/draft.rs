//! The network of a data file while it is read: the simulator, the nodes and their ids.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_packet::Bitrate;

use super::block::Located;
use super::error::Problem;
use super::nodes::NodeType;
use super::syntax::Block;
use lasthop_scenario::model::{NodeModel, Scenario, SchemeChoice, Trial};

/// The maximum number of nodes: routing keeps a table of all pairs.
const MAX_NODES: usize = 2_000;

/// The network of a data file before its link states are read.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) scenario: Scenario,
    pub(super) print_interval: Duration,
    /// `read_from_trace`.
    pub(super) read_from_trace: Located<u64>,
    /// `mean_exp_distrib_bad_state` of each wireless link, by the link's index.
    pub(super) bad_means: BTreeMap<usize, Located<f64>>,
    /// The bandwidth of each wireless link, by the link's index.
    pub(super) bandwidths: BTreeMap<usize, Bitrate>,
    /// The line of a link's cell, by the link's index.
    pub(super) cells: BTreeMap<usize, usize>,
    pub(super) node_types: Vec<NodeType>,
    /// The index and line of each node, by its id.
    nodes: BTreeMap<u64, Located<usize>>,
    /// The index and line of each link, by its id.
    pub(super) links: BTreeMap<u64, Located<usize>>,
}

impl Draft {
    /// A network without nodes and links, with the settings of the component `simulator`.
    pub(super) fn with_simulator(block: &Block<'_>) -> Result<Self, Problem> {
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
            warm_up: Duration::ZERO,
            stop_when_done: false,
            nodes: Vec::new(),
            links: Vec::new(),
            changes: Vec::new(),
            intervals: Vec::new(),
            wlans: Vec::new(),
            routes: Vec::new(),
            flows: Vec::new(),
            sessions: Vec::new(),
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
            bandwidths: BTreeMap::new(),
            cells: BTreeMap::new(),
            node_types: Vec::new(),
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
        })
    }

    /// Adds a node, if the block is one.
    pub(super) fn add_node(&mut self, block: &Block<'_>) -> Result<(), Problem> {
        let Some(node_type) = NodeType::from_component(block.component) else { return Ok(()) };
        if node_type.is_source() {
            block.has_only(&[
                "node_id",
                "dest_id",
                "num_of_pkts_to_send",
                "pkt_size",
                "recv_wnd_size",
                "start_time",
            ])?;
        } else if node_type.is_router() {
            block.has_only(&["node_id", "buffer_size", "processing_delay"])?;
        } else {
            block.has_only(&["node_id"])?;
        }
        let id = block.id("node_id")?;
        let (buffer, processing_delay) = if node_type.is_router() {
            let buffer = block.whole("buffer_size", 0..=1 << 40, " octets")?;
            (Some(buffer.value), block.millis("processing_delay", 0)?)
        } else {
            (None, Duration::ZERO)
        };
        let index = self.scenario.nodes.len();
        if index == MAX_NODES {
            return Err(Problem::new(
                block.line,
                block.component,
                format!("expected at most {MAX_NODES} nodes"),
            ));
        }
        let entry = Located { value: index, line: id.line };
        if let Some(first) = self.nodes.insert(id.value, entry) {
            let problem =
                format!("node id {} is already used in line {}; expected a unique id", id.value, first.line);
            return Err(block.problem_at(id.line, "node_id", problem));
        }
        self.node_types.push(node_type);
        self.scenario.nodes.push(NodeModel {
            name: id.value.to_string(),
            kind: node_type.kind(),
            role: node_type.role(),
            processing_delay,
            buffer,
            position: lasthop_wifi::Position::default(),
            nat: None,
        });
        Ok(())
    }

    /// The index of the node whose id an attribute has.
    pub(super) fn end(&self, block: &Block<'_>, key: &str) -> Result<usize, Problem> {
        let id = block.id(key)?;
        let node = self.nodes.get(&id.value).map(|node| node.value);
        node.ok_or_else(|| {
            block.problem_at(id.line, key, format!("unknown node {}; expected the id of a node", id.value))
        })
    }
}
