//! Clients that roam between the gateways of a trial, with their connections.
//!
//! | module | what is in it |
//! |---|---|
//! | `hand_over` | what gateways that hand over need, or nothing in a build without roaming |
//! | `files` | their files, and where the registry is |
//! | `associations` | tells them who has associated, and asks when a client was served |
//!
//! An interruption is the same span on real hosts and in the simulator ([`Roam::interruption`]). The
//! association itself is the model's on both sides; when a client is served, its gateway says.

#[cfg(feature = "roaming")]
mod associations;
#[cfg(feature = "roaming")]
mod files;
#[cfg_attr(not(feature = "roaming"), path = "roaming/no_hand_over.rs")]
pub(super) mod hand_over;

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_gateway::packet_loop::LoopReport;
use lasthop_packet::Instant;
use lasthop_sim::{NodeId, Roam, World};
use serde::{Deserialize, Serialize};

/// A client's way from one access point to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandOff {
    /// The client.
    pub client: String,
    /// The access point that it came from.
    pub from: String,
    /// The access point that it has gone to.
    pub to: String,
    /// Seconds for which it had no access point; null if it did not join this one before the end of the
    /// run.
    pub radio_gap_s: Option<f64>,
    /// Seconds from the moment at which it left the former access point until this one served it, with
    /// the state of its connections if gateways hand over; null if that did not come before the end of the
    /// run.
    pub interruption_s: Option<f64>,
}

/// The results of a run in which clients roam.
#[derive(Clone, Debug, Serialize)]
pub struct RoamingRun {
    /// Its flows.
    pub flows: Vec<String>,
    /// The congestion control of each flow and session of the run that goes over TCP.
    pub controls: Vec<String>,
    /// The scheme's label.
    pub scheme: String,
    /// The seed of the emulated links.
    pub seed: u64,
    /// The hand-offs between real hosts.
    pub hand_offs: Vec<HandOff>,
    /// Those in the simulator, with the same seed; null for a congestion control that the simulator does
    /// not have.
    pub predicted_hand_offs: Option<Vec<HandOff>>,
    /// Flows whose connection ended before its time.
    pub connections_lost: u64,
    /// Flows and sessions of which an octet did not arrive as it was sent.
    pub corrupted: u64,
    /// The report of each gateway's packet loop, as `report` in `lasthop gateway status --json`, in the order of
    /// the access points; empty without gateways.
    pub gateways: Vec<LoopReport>,
}

/// The stations of a cell in which clients roam: their nodes in the model, by their numbers.
#[derive(Clone, Debug)]
pub(super) struct Stations {
    pub(super) access_points: Vec<NodeId>,
    pub(super) clients: Vec<NodeId>,
}

impl Stations {
    /// The association of a client with an access point.
    fn joined(&self, client: NodeId, access_point: NodeId, at: Instant) -> Option<Joined> {
        let number = |nodes: &[NodeId], node| nodes.iter().position(|known| *known == node);
        Some(Joined {
            client: number(&self.clients, client)?,
            access_point: number(&self.access_points, access_point)?,
            at,
        })
    }
}

/// A client has joined an access point. Both have their numbers in their cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) client: usize,
    pub(super) access_point: usize,
    /// On the clock of the one who saw it.
    pub(super) at: Instant,
}

/// An association, and when its gateway served the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Served {
    joined: Joined,
    /// How long after that it was served; `None` if it was not.
    after: Option<Duration>,
}

impl Served {
    /// When the client was served, on the clock of its association; `None` if it was not.
    fn at(&self) -> Option<Instant> {
        Some(self.joined.at + self.after?)
    }
}

/// When the client of an association was served, if it was.
pub(super) fn served_at(all: &[Served], joined: Joined) -> Option<Instant> {
    all.iter().find(|served| served.joined == joined).and_then(Served::at)
}

/// Where the clients of a world have gone.
pub(super) struct Ways {
    roams: Vec<Roam>,
    names: BTreeMap<NodeId, String>,
    agents_hand_over: bool,
}

impl Ways {
    /// Those so far.
    pub(super) fn of(world: &World) -> Self {
        let roams = world.roams().to_vec();
        let nodes = roams.iter().flat_map(|roam| [roam.client, roam.to]);
        let names = nodes.map(|node| (node, world.node_name(node).to_owned())).collect();
        Self { roams, names, agents_hand_over: world.hands_over() }
    }

    /// The same where agents are elsewhere: when a client was served, its gateway says.
    pub(super) fn with_gateways(mut self, stations: &Stations, served: &[Served]) -> Self {
        for roam in &mut self.roams {
            let joined = roam.joined.and_then(|at| stations.joined(roam.client, roam.to, at));
            roam.served = joined.and_then(|joined| served_at(served, joined));
        }
        Self { agents_hand_over: true, ..self }
    }

    /// Those from one access point to another.
    pub(super) fn hand_offs(&self) -> Vec<HandOff> {
        let name = |node: &NodeId| self.names.get(node).cloned().unwrap_or_default();
        let hand_offs = self.roams.iter().filter(|roam| roam.is_hand_off()).filter_map(|roam| {
            let (from, _) = roam.from?;
            Some(HandOff {
                client: name(&roam.client),
                from: name(&from),
                to: name(&roam.to),
                radio_gap_s: roam.radio_gap().map(|gap| gap.as_secs_f64()),
                interruption_s: roam.interruption(self.agents_hand_over).map(|time| time.as_secs_f64()),
            })
        });
        hand_offs.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_sim::{NodeConfig, NodeKind};

    #[test]
    fn a_client_is_served_when_its_gateway_says_so() {
        let mut world = World::new(1);
        let nodes = ["walker", "hall", "stairs"]
            .map(|name| world.add_node(NodeConfig::new(name, NodeKind::External)));
        let [client, hall, stairs] = nodes;
        let ms = |millis: u64| Instant::ZERO + Duration::from_millis(millis);
        let roam = |from: Option<(NodeId, Instant)>, to, joined| Roam {
            client,
            from,
            to,
            accepted: joined,
            joined: Some(joined),
            served: None,
            connections: 0,
            octets: 0,
        };
        let roams = vec![
            roam(None, hall, ms(10)),
            roam(Some((hall, ms(1_000))), stairs, ms(1_005)),
            roam(Some((stairs, ms(2_000))), hall, ms(2_005)),
            roam(Some((hall, ms(3_000))), hall, ms(3_005)),
        ];
        let names = nodes.into_iter().zip(["walker", "hall", "stairs"].map(str::to_owned)).collect();
        let ways = Ways { roams, names, agents_hand_over: false };
        let spans = |ways: &Ways| -> Vec<Option<f64>> {
            ways.hand_offs().iter().map(|hand_off| hand_off.interruption_s).collect()
        };
        assert_eq!(spans(&ways), [Some(0.005); 2], "without gateways that hand over, an association is all");
        let stations = Stations { access_points: vec![hall, stairs], clients: vec![client] };
        let served = |access_point, at, after: Option<u64>| Served {
            joined: stations.joined(client, access_point, at).expect("they are in the cell"),
            after: after.map(Duration::from_millis),
        };
        let served = [
            served(hall, ms(10), Some(3)),
            served(stairs, ms(1_005), Some(15)),
            served(hall, ms(2_005), None),
        ];
        let ways = ways.with_gateways(&stations, &served);
        assert_eq!(spans(&ways), [Some(0.020), None]);
        let first = &ways.hand_offs()[0];
        assert_eq!([&first.client, &first.from, &first.to], ["walker", "hall", "stairs"]);
        assert_eq!(first.radio_gap_s, Some(0.005));
    }
}
