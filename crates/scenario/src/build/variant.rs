//! How a world is built from a scenario.

use crate::model::SchemeChoice;

/// How a world is built.
#[derive(Clone, Copy)]
pub(super) struct Variant<'a> {
    pub(super) scheme: &'a SchemeChoice,
    pub(super) seed: u64,
    /// For the row of the upper bound.
    pub(super) without_loss: bool,
    pub(super) wifi: WifiStack,
}

/// Whose the upper part of the MAC layer is: beacons, association, power save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WifiStack {
    /// That of the world.
    World,
    /// That of the hosts: the stations of the world only transmit and receive.
    Hosts,
}
