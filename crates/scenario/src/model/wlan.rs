//! An IEEE 802.11 cell: its stations, their positions and their movement.

use std::collections::BTreeMap;
use std::time::Duration;

use super::nat::RoamingNat;
use lasthop_aodv::AodvConfig;
use lasthop_sim::config::RadioErrors;
use lasthop_sim::ess::ClientConfig;
use lasthop_sim::mobility::{Path, RandomWaypoint};
use lasthop_sim::queue::StationQueue;
use lasthop_sim::{ChannelConfig, QueueLimit, ServiceSetConfig, StationId, SteeringConfig};
use lasthop_wifi::{Position, PowerSaveConfig, Scheduler, StationConfig, WlanConfig};

/// The largest datagram that a station accepts, in octets. IEEE 802.11-2012, 8.2.3, has 2,304
/// octets for an MSDU, LLC's header included; Linux and others allow the datagram itself to be as
/// long.
pub const MTU: u32 = 2_304;

/// An IEEE 802.11 cell. Its links are among [`Scenario::links`](crate::Scenario::links).
#[derive(Clone, Debug)]
pub struct WlanModel {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub config: WlanConfig,
    /// Its stations; an access point comes first.
    pub stations: Vec<WlanStation>,
    /// Whether the first one is an access point, alone in the cell.
    pub has_access_point: bool,
    /// The error process of each direction between two stations, besides the errors in `config`.
    pub channel: Option<ChannelConfig>,
    /// Directions with errors of their own: the indices in `stations` of sender and receiver.
    pub errors: Vec<(usize, usize, RadioErrors)>,
    /// Power save; only with an access point.
    pub power_save: Option<PowerSave>,
    /// Routing on demand, with which any two stations have a link; `None` with shortest paths or an
    /// access point.
    pub routing: Option<AodvConfig>,
    /// Random initial positions of its stations, instead of those in `stations`.
    pub placement: Option<Placement>,
    /// How its stations move at random.
    pub mobility: Option<Mobility>,
    /// The paths that stations follow instead: indices in `stations`.
    pub paths: Vec<(usize, Path)>,
    /// The program that moves its clients, with `roaming` only.
    pub program: Option<Program>,
    /// The access points, which come first in `stations`, among which the others roam.
    pub roaming: Option<Roaming>,
}

impl WlanModel {
    /// The number of its access points, which come first in `stations`: none in a cell without.
    pub fn access_point_count(&self) -> usize {
        self.roaming.as_ref().map_or(usize::from(self.has_access_point), |roaming| roaming.access_points)
    }

    /// The nodes that are access points among which clients roam; none with a single access point.
    pub fn access_points(&self) -> impl Iterator<Item = usize> {
        self.stations[..self.roaming.as_ref().map_or(0, |roaming| roaming.access_points)]
            .iter()
            .map(|station| station.node)
    }
}

/// A node's radio in a cell.
#[derive(Clone, Debug)]
pub struct WlanStation {
    /// Index of the node.
    pub node: usize,
    /// Its parameters.
    pub config: StationConfig,
    /// Where its packets wait, if not in the queue of its MAC.
    pub queue: StationQueue,
}

/// Where the packets of a station wait.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waiting {
    /// The limit of the queue of its MAC.
    pub(crate) limit: QueueLimit,
    /// The order of that queue.
    pub(crate) order: Scheduler,
    /// What is above it.
    pub(crate) above: StationQueue,
}

impl Waiting {
    /// A station's packets wait here.
    pub(crate) fn apply(self, station: &mut WlanStation) {
        let Self { limit, order, above } = self;
        (station.config.queue, station.config.scheduler, station.queue) = (limit, order, above);
    }

    /// The weights of receivers, if their turns are by air time.
    pub(crate) const fn weights_mut(&mut self) -> Option<&mut BTreeMap<StationId, u32>> {
        match &mut self.above {
            StationQueue::Airtime(config) => Some(&mut config.weights),
            StationQueue::Mac | StationQueue::Discipline { .. } => None,
        }
    }
}

/// Access points of one network, and clients that roam between them.
#[derive(Clone, Debug)]
pub struct Roaming {
    /// What the members have in common.
    pub config: ServiceSetConfig,
    /// The number of access points; their stations have their channels and places.
    pub access_points: usize,
    /// What each client does.
    pub client: ClientConfig,
    /// The node of the registry, if agents hand over what they know of clients.
    pub registry: Option<usize>,
    /// How the access points translate addresses; `None` if they are bridges.
    pub nat: Option<RoamingNat>,
    /// The controller that steers clients, if there is one.
    pub steering: Option<SteeringConfig>,
}

/// Power save around an access point.
#[derive(Clone, Debug)]
pub struct PowerSave {
    /// Its parameters.
    pub config: PowerSaveConfig,
    /// Indices in [`WlanModel::stations`] of the stations in power-save mode.
    pub stations: Vec<usize>,
}

/// Random initial positions of stations, drawn by the seed.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// The north-east corner of the area, whose south-west corner is at 0, 0.
    pub area: Position,
    /// Two stations, as indices in [`WlanModel::stations`], and the required number of hops on the
    /// shortest path between them.
    pub apart: Option<(usize, usize, usize)>,
}

/// The program of an event, between whose sessions clients walk.
#[derive(Clone, Debug)]
pub struct Program {
    /// Where sessions take place.
    pub rooms: Vec<Room>,
    /// In order of time, the first one at zero; never empty.
    pub sessions: Vec<ProgramSession>,
    /// The slowest and the fastest speed of clients, in metres a second.
    pub speed: (f64, f64),
    /// Clients set out within this time after the start of a session.
    pub spread: Duration,
    /// The interval between updates of positions.
    pub interval: Duration,
}

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Its corner in the south-west.
    pub from: Position,
    /// Its corner in the north-east.
    pub to: Position,
}

/// Sessions at the same time.
#[derive(Clone, Debug)]
pub struct ProgramSession {
    /// When they start.
    pub start: Duration,
    /// By room, how likely it is that a client goes there, relative to the others; not all are zero.
    pub weights: Vec<u32>,
}

/// The movement of stations.
#[derive(Clone, Debug)]
pub struct Mobility {
    /// The mobility model.
    pub model: RandomWaypoint,
    /// Indices in [`WlanModel::stations`] of the stations that move.
    pub walkers: Vec<usize>,
}
