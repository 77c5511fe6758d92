//! Stations that have moved or were tuned since stations were last divided into domains.

use std::collections::BTreeMap;

/// These stations.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// By station: whether it was tuned.
    stations: BTreeMap<u32, bool>,
}

impl Changes {
    /// A station has moved.
    pub(super) fn moved(&mut self, station: u32) {
        self.stations.entry(station).or_default();
    }

    /// A station was tuned.
    pub(super) fn tuned(&mut self, station: u32) {
        self.stations.insert(station, true);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stations.is_empty()
    }

    /// The stations in order, and whether each was tuned.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, bool)> {
        self.stations.iter().map(|(station, is_tuned)| (*station, *is_tuned))
    }
}
