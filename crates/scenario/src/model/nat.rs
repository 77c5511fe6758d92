//! Address translation.

use lasthop_sim::NatConfig;

/// A router that translates addresses.
#[derive(Clone, Debug)]
pub struct NatModel {
    /// Its settings; its outside address is its own.
    pub config: NatConfig,
    /// Indices of the neighbors that are outside; all others are inside.
    pub outside: Vec<usize>,
}

/// Access points that translate the addresses of their clients.
#[derive(Clone, Debug)]
pub struct RoamingNat {
    /// The settings of each; its outside address is its own.
    pub config: NatConfig,
    /// The index of the node of the central translator, if a client's translations follow it from access point to access
    /// point; otherwise each access point is on its own.
    pub central: Option<usize>,
}
