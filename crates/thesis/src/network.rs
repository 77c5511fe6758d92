//! Builds the network and its traffic from blocks.

use std::ops::RangeInclusive;
use std::time::Duration;

use lasthop_sim::{Application, Opening};
use lasthop_tcp::{Config, RtoConfig};

use super::draft::Draft;
use super::error::Problem;
use super::links::CLOCK;
use super::nodes::NodeType;
use super::syntax::Block;
use lasthop_scenario::build::Network;
use lasthop_scenario::model::{FlowModel, MTU, TcpModel, TransportModel};

/// Octets of payload in a packet.
const PACKET_SIZES: RangeInclusive<u64> = 1..=65_495;

/// Octets of the headers of IP and TCP.
const HEADERS: u32 = 40;

/// The network of these blocks.
pub(super) fn draft(blocks: &[Block<'_>], last_line: usize) -> Result<Draft, Problem> {
    let mut simulators = blocks.iter().filter(|block| block.component == "simulator");
    let expected = "expected one component `simulator`";
    let simulator = simulators
        .next()
        .ok_or_else(|| Problem::new(last_line, "simulator", format!("missing; {expected}")))?;
    if let Some(second) = simulators.next() {
        let problem = format!("duplicate of the one in line {}; {expected}", simulator.line);
        return Err(Problem::new(second.line, "simulator", problem));
    }
    let mut draft = Draft::with_simulator(simulator)?;
    for block in blocks {
        draft.add_node(block)?;
    }
    for block in blocks {
        match block.component {
            "wired_link" => draft.add_wired_link(block)?,
            "wireless_link" => draft.add_wireless_link(block)?,
            "shared_links" => draft.share_links(block)?,
            _ => {}
        }
    }
    let parts = draft.parts();
    for block in blocks {
        draft.add_flow(block, &parts)?;
    }
    if draft.scenario.flows.is_empty() {
        let expected = "no node sends anything; expected a wired_source_node or a wireless_source_node";
        return Err(Problem::new(last_line, "", expected));
    }
    draft.refuse_large_packets(blocks)?;
    Ok(draft)
}

impl Draft {
    fn add_flow(&mut self, block: &Block<'_>, parts: &[usize]) -> Result<(), Problem> {
        if !NodeType::from_component(block.component).is_some_and(NodeType::is_source) {
            return Ok(());
        }
        let from = self.end(block, "node_id")?;
        let to = self.destination(block, from, parts)?;
        let packets = block.whole("num_of_pkts_to_send", 1..=1_000_000_000_000, "")?.value;
        let size = block.whole("pkt_size", PACKET_SIZES, " octets")?.value;
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

    /// Refuses packets that do not fit into the frames of an 802.11 cell on their path. Nothing
    /// fragments them.
    fn refuse_large_packets(&self, blocks: &[Block<'_>]) -> Result<(), Problem> {
        let Self { scenario, .. } = self;
        if scenario.wlans.is_empty() {
            return Ok(());
        }
        let sources = blocks
            .iter()
            .filter(|block| NodeType::from_component(block.component).is_some_and(NodeType::is_source));
        let network = Network::new(scenario);
        for (flow, block) in scenario.flows.iter().zip(sources) {
            let size = block.whole("pkt_size", PACKET_SIZES, " octets")?;
            let most = u64::from(MTU - HEADERS);
            let network = network.as_ref();
            let network =
                network.map_err(|error| Problem::new(block.line, block.component, error.to_string()))?;
            if size.value > most && network.crosses_a_wlan(flow.from, flow.to) {
                let problem = format!(
                    "{}: expected at most {most} octets: the connection crosses an 802.11 cell, whose frames carry {MTU} octets with the headers of IP and TCP",
                    size.value
                );
                return Err(block.problem_at(size.line, "pkt_size", problem));
            }
        }
        Ok(())
    }

    /// The sink of a source.
    fn destination(&self, block: &Block<'_>, from: usize, parts: &[usize]) -> Result<usize, Problem> {
        let to = self.end(block, "dest_id")?;
        let name = &self.scenario.nodes[to].name;
        let line = block.id("dest_id")?.line;
        let problem = |problem: String| block.problem_at(line, "dest_id", problem);
        if !self.node_types[to].is_sink() {
            return Err(problem(format!(
                "node {name} is not a sink; expected a wired_sink_node or a wireless_sink_node"
            )));
        }
        if let Some(other) = self.scenario.flows.iter().find(|flow| flow.to == to) {
            let other = &self.scenario.nodes[other.from].name;
            return Err(problem(format!("node {other} already sends to node {name}; a sink has one source")));
        }
        if parts[from] != parts[to] {
            return Err(problem(format!("no route to node {name}; expected links that lead there")));
        }
        Ok(to)
    }
}
