//! Reads blocks of links.

use std::time::Duration;

use lasthop_packet::units::cut_to_ticks;
use lasthop_packet::{Bitrate, Probability};
use lasthop_sim::{
    Arq, Capacity, ChannelConfig, Direction, Faults, Feedback, LinkLayer, Loss, QueueLimit, WiredConfig,
    WirelessConfig,
};

use super::block::Located;
use super::draft::Draft;
use super::error::Problem;
use super::syntax::Block;
use lasthop_scenario::model::{Link, LinkModel};

/// The clock of the thesis's simulator. It counts milliseconds and rounds transmission times down
/// to whole milliseconds. Otherwise the round-trip time of 351 ms (figure 5.3), the exchange of 10
/// ms and the failed attempt of 11 ms (appendix B.4) cannot be reproduced.
pub const CLOCK: Duration = Duration::from_millis(1);

const MAX_LINKS: usize = 10_000;

impl Draft {
    pub(super) fn add_wired_link(&mut self, block: &Block<'_>) -> Result<(), Problem> {
        block.has_only(&[
            "link_id",
            "bandwidth",
            "latency",
            "node_id1",
            "node_id2",
            "loss_probability",
            "random_seed",
        ])?;
        let common = self.link_attributes(block)?;
        let loss = block.number("loss_probability", 0.0..=1.0, "")?;
        let loss = Probability::new(loss.value).unwrap_or(Probability::ZERO).into();
        let direction = Direction { loss, ..direction(&common) };
        let link = Link::Wired(WiredConfig {
            name: common.id.value.to_string(),
            forward: direction.clone(),
            backward: direction,
            clock: CLOCK,
            seed: Some(common.seed),
        });
        self.add_link(block, &common, link)
    }

    pub(super) fn add_wireless_link(&mut self, block: &Block<'_>) -> Result<(), Problem> {
        block.has_only(&[
            "link_id",
            "bandwidth",
            "latency",
            "node_id1",
            "node_id2",
            "mean_exp_distrib_good_state",
            "mean_exp_distrib_bad_state",
            "random_seed",
        ])?;
        let common = self.link_attributes(block)?;
        // No stay is shorter than a tick of the clock.
        let good = block.number("mean_exp_distrib_good_state", 0.001..=1e7, " seconds")?;
        let bad = block.number("mean_exp_distrib_bad_state", 0.0..=1e7, " seconds")?;
        if bad.value > 0.0 && bad.value < 0.001 {
            let problem = format!("{}: expected 0, or at least 0.001 (seconds)", bad.value);
            return Err(block.problem_at(bad.line, "mean_exp_distrib_bad_state", problem));
        }
        let (first, second) = (self.node_types[common.ends.0], self.node_types[common.ends.1]);
        if first.is_reliable() != second.is_reliable() {
            let names = [common.ends.0, common.ends.1].map(|end| &self.scenario.nodes[end].name);
            let problem = format!(
                "only one of nodes {} and {} has the reliable link layer; expected both to be of the kinds base_station, wireless_source_node and wireless_sink_node, or neither",
                names[0], names[1]
            );
            return Err(block.problem_at(block.line, "node_id1", problem));
        }
        self.bad_means.insert(self.scenario.links.len(), bad);
        self.bandwidths.insert(self.scenario.links.len(), common.rate);
        let direction = direction(&common);
        let config = WirelessConfig {
            name: common.id.value.to_string(),
            forward: direction.clone(),
            backward: direction,
            clock: CLOCK,
            channel: ChannelConfig::bursty(
                Duration::from_secs_f64(good.value),
                Duration::from_secs_f64(bad.value),
            ),
            link_layer: if first.is_reliable() { link_layer(&common) } else { LinkLayer::UNRELIABLE },
            medium: None,
            seed: Some(common.seed),
        };
        self.add_link(block, &common, Link::Wireless { config, cell: None })
    }

    fn link_attributes(&self, block: &Block<'_>) -> Result<CommonAttributes, Problem> {
        let id = block.id("link_id")?;
        let bandwidth = block.whole("bandwidth", 1..=1_000_000_000_000, " bits per second")?;
        let latency = block.millis("latency", 0)?;
        let seed = block.whole("random_seed", 0..=u64::MAX, "")?.value;
        let ends = (self.end(block, "node_id1")?, self.end(block, "node_id2")?);
        if ends.0 == ends.1 {
            return Err(block.problem_at(
                block.line,
                "node_id2",
                "the same node as node_id1; expected a different node",
            ));
        }
        let rate = Bitrate::from_bps(bandwidth.value)
            .ok_or_else(|| block.problem_at(bandwidth.line, "bandwidth", "expected a rate above zero"))?;
        Ok(CommonAttributes { id, rate, latency, ends, seed })
    }

    fn add_link(&mut self, block: &Block<'_>, common: &CommonAttributes, link: Link) -> Result<(), Problem> {
        let index = self.scenario.links.len();
        if index == MAX_LINKS {
            return Err(Problem::new(
                block.line,
                block.component,
                format!("expected at most {MAX_LINKS} links"),
            ));
        }
        let id = common.id;
        if let Some(first) = self.links.insert(id.value, Located { value: index, line: id.line }) {
            let problem =
                format!("link id {} is already used in line {}; expected a unique id", id.value, first.line);
            return Err(block.problem_at(id.line, "link_id", problem));
        }
        let (a, b) = common.ends;
        if let Some(other) =
            self.scenario.links.iter().find(|link| link.ends == (a, b) || link.ends == (b, a))
        {
            let problem = format!(
                "link {} already joins these two nodes; routes count hops and would never use a second link",
                other.name()
            );
            return Err(block.problem_at(block.line, "node_id1", problem));
        }
        self.scenario.links.push(LinkModel::new(common.ends, link));
        Ok(())
    }

    /// The connected component of each node. Only nodes of the same component can reach each other.
    pub(super) fn parts(&self) -> Vec<usize> {
        let mut parent: Vec<usize> = (0..self.scenario.nodes.len()).collect();
        for link in &self.scenario.links {
            let (first, second) = (root(&mut parent, link.ends.0), root(&mut parent, link.ends.1));
            parent[first] = second;
        }
        (0..parent.len()).map(|node| root(&mut parent, node)).collect()
    }
}

fn root(parent: &mut [usize], mut node: usize) -> usize {
    while parent[node] != node {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    node
}

/// The attributes of both kinds of links.
struct CommonAttributes {
    id: Located<u64>,
    rate: Bitrate,
    latency: Duration,
    ends: (usize, usize),
    seed: u64,
}

/// Octets of an acknowledgment frame of the link layer: an 802.11 ACK has 14.
const ACK_OCTETS: u32 = 14;

/// Attempts at a frame after the first, as shown in appendix B.4. Section 4.2 does not give a
/// value.
pub(super) const RETRANSMISSIONS: u32 = 8;

/// Stop-and-wait, with [`RETRANSMISSIONS`] attempts after the first. The sender waits one tick
/// longer than an acknowledgment takes: at 1 Mbit/s and 1 ms a failed attempt takes 11 ms and a
/// successful one 10 ms, as in appendix B.4.
fn link_layer(link: &CommonAttributes) -> LinkLayer {
    let ack_time = cut_to_ticks(link.rate.transmission_time(u64::from(ACK_OCTETS)), CLOCK);
    let timeout = link.latency * 2 + ack_time + CLOCK;
    LinkLayer {
        feedback: Feedback::Acknowledged { timeout, ack_octets: ACK_OCTETS, arq: Arq::StopAndWait },
        retransmission_attempts: RETRANSMISSIONS,
    }
}

/// One direction of a link.
fn direction(common: &CommonAttributes) -> Direction {
    Direction {
        capacity: Capacity::Fixed(common.rate),
        queue: QueueLimit::Unlimited.into(),
        loss: Loss::NONE,
        delay: common.latency.into(),
        faults: Faults::NONE,
    }
}
