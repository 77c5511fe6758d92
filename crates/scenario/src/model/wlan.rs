//! An IEEE 802.11 cell: its stations, where they stand and how they move.

use lasthop_aodv::AodvConfig;
use lasthop_sim::mobility::RandomWaypoint;
use lasthop_wifi::{ErrorConfig, Position, PowerSaveConfig, StationConfig, WlanConfig};

/// The largest datagram that a station takes, in octets. IEEE 802.11-2012, 8.2.3, has 2,304 octets
/// for an MSDU, LLC's header included; Linux and others allow the datagram itself to be as long.
pub const MTU: u32 = 2_304;

/// An IEEE 802.11 cell. Its links are among [`Scenario::links`](crate::Scenario::links).
#[derive(Clone, Debug)]
pub struct WlanModel {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub config: WlanConfig,
    /// Its stations; an access point is the first of them.
    pub stations: Vec<WlanStation>,
    /// Directions with errors of their own: indices in `stations` from, to.
    pub errors: Vec<(usize, usize, ErrorConfig)>,
    /// Its stations that doze, and how; with an access point only.
    pub power_save: Option<PowerSave>,
    /// How its stations look for routes; `None`: shortest paths, or an access point. With it any
    /// two stations have a link.
    pub routing: Option<AodvConfig>,
    /// Where its stations stand at first, instead of where `stations` says.
    pub placement: Option<Placement>,
    /// How its stations move.
    pub mobility: Option<Mobility>,
}

/// A node's radio in a cell.
#[derive(Clone, Debug)]
pub struct WlanStation {
    /// Index of the node.
    pub node: usize,
    /// Its parameters.
    pub config: StationConfig,
}

/// Power save around an access point.
#[derive(Clone, Debug)]
pub struct PowerSave {
    /// Its parameters.
    pub config: PowerSaveConfig,
    /// Indices in [`WlanModel::stations`] of those in power-save mode.
    pub stations: Vec<usize>,
}

/// Stations stand anywhere at first, by the seed.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// The corner of the area that is farthest east and north, from one at 0, 0.
    pub area: Position,
    /// Two stations, indices in [`WlanModel::stations`], and how many hops the shortest way between
    /// them is to have.
    pub apart: Option<(usize, usize, usize)>,
}

/// Stations move.
#[derive(Clone, Debug)]
pub struct Mobility {
    /// How they walk.
    pub model: RandomWaypoint,
    /// Indices in [`WlanModel::stations`] of those that do.
    pub walkers: Vec<usize>,
}
