//! Stands for `hand_over` in a build for a single gateway.

use std::net::IpAddr;

use lasthop_gateway::Config;
use lasthop_sim::Observer;

use super::{Served, Stations};
use crate::error::TrialError;

/// There is none.
pub(crate) enum HandOver {}

impl HandOver {
    /// Refuses.
    pub(crate) fn new(_addresses: Vec<IpAddr>, _registry: usize) -> Result<Self, TrialError> {
        let problem = "this build is for a single gateway; the complete `lasthop` has others";
        Err(TrialError::unsuitable("wlans", problem))
    }

    pub(crate) fn complete(&self, _config: Config, _access_point: usize) -> Config {
        match *self {}
    }

    pub(crate) fn observer(&mut self, _stations: Stations) -> Result<Box<dyn Observer>, TrialError> {
        match *self {}
    }

    pub(crate) fn served(&mut self) -> Result<Vec<Served>, TrialError> {
        match *self {}
    }
}
