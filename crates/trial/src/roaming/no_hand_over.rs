//! Stands for `hand_over` in a build for a single gateway.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use lasthop_gateway::Config;
use lasthop_gateway::frame::MacAddress;
use lasthop_sim::Observer;

use super::{Joined, Served, Stations};
use crate::error::TrialError;

/// There is none.
pub(crate) enum HandOver {}

impl HandOver {
    /// Refuses.
    pub(crate) fn new(_parent: &Path, _addresses: Vec<IpAddr>, _registry: usize) -> Result<Self, TrialError> {
        let problem = "this build is for a single gateway; the complete `lasthop` has others";
        Err(TrialError::unsuitable("wlans", problem))
    }

    pub(crate) fn complete(&self, _config: Config, _access_point: usize, _hostapd: Vec<PathBuf>) -> Config {
        match *self {}
    }

    pub(crate) fn follow(&mut self, _clients: Vec<MacAddress>) -> Result<Sender<Joined>, TrialError> {
        match *self {}
    }

    pub(crate) fn observer(
        &mut self,
        _stations: Stations,
        _clients: Vec<MacAddress>,
    ) -> Result<Box<dyn Observer>, TrialError> {
        match *self {}
    }

    pub(crate) fn served(&mut self) -> Result<Vec<Served>, TrialError> {
        match *self {}
    }
}
