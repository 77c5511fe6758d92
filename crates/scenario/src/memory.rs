//! The error of a run that makes the process exceed its memory limit. It names the largest holding.

use lasthop_packet::units::format_octets;
use lasthop_sim::world::Holding;
use lasthop_sim::{LinkId, NodeId};
use thiserror::Error;

use crate::build::Built;
use crate::model::Scenario;

/// A run made the process exceed its memory limit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the run with scheme {scheme:?} and seed {seed} exceeded the memory limit of {} after {at_s} s of \
     simulated time{largest}",
    shown(*.limit)
)]
pub struct MemoryExceeded {
    /// The scheme's label.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// The limit, in octets.
    pub limit: u64,
    /// Simulated time, in whole seconds.
    pub at_s: u64,
    /// The largest holding of memory and a remedy, after a colon.
    pub largest: String,
}

impl MemoryExceeded {
    /// The error of a run during which the limit was exceeded.
    pub(crate) fn new(scenario: &Scenario, scheme: &str, seed: u64, built: &mut Built, limit: u64) -> Self {
        let largest = built.world.largest_holding();
        let at_s = built.world.now().as_secs_f64() as u64;
        // A holding that is small compared with the limit is not the cause.
        let largest = largest.filter(|holding| holding.octets() >= limit / 4);
        let largest = largest.map_or_else(
            || {
                ": what grew is not known; raise --memory-limit, or run less at a time (compare: --seeds; sweep: \
                 --jobs)"
                    .to_owned()
            },
            |holding| describe(scenario, built, holding),
        );
        Self { scheme: scheme.to_owned(), seed, limit, at_s, largest }
    }
}

fn shown(octets: u64) -> String {
    if octets < 1_000_000 { format_octets(octets) } else { format!("{} MB", octets / 1_000_000) }
}

fn describe(scenario: &Scenario, built: &Built, holding: Holding) -> String {
    const RAISE: &str = "or raise --memory-limit";
    match holding {
        Holding::Queue { node, link, packets } => {
            let key = queue_key(scenario, built, (node, link));
            let key = key.map_or_else(String::new, |key| format!(" ({key})"));
            let (name, node) = (built.world.link_name(link), built.world.node_name(node));
            format!(
                ": the queue of link {name:?} at {node:?} holds {packets} packets; bound it{key}, {RAISE}"
            )
        }
        Holding::OnTheWay { packets } => {
            format!(": {packets} packets are on links; lower a rate or a delay, {RAISE}")
        }
        Holding::Agent { node, octets } => {
            let node = built.world.node_name(node);
            format!(": the agent at {node:?} holds {} MB; lower the load, {RAISE}", octets / 1_000_000)
        }
    }
}

/// The key of the scenario that bounds the queue of a link at the sending node, if there is one.
fn queue_key<'a>(scenario: &'a Scenario, built: &Built, (node, link): (NodeId, LinkId)) -> Option<&'a str> {
    let model = &scenario.links[built.links.iter().position(|known| *known == link)?];
    let [forward, backward] = model.queue_keys.as_ref()?;
    Some(if built.nodes[model.ends.0] == node { forward } else { backward })
}
