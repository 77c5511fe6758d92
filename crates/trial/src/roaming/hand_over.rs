//! What gateways that hand over need of a trial: files, and word of associations.

use std::net::IpAddr;

use lasthop_gateway::Config;
use lasthop_sim::Observer;

use super::associations::{Associations, Followed};
use super::files::Files;
use super::{Served, Stations};
use crate::error::TrialError;

/// Gateways that hand over, beside their processes.
pub(crate) struct HandOver {
    files: Files,
    associations: Option<Associations>,
}

impl HandOver {
    /// For access points with these addresses, of which the one with the number `registry` keeps the registry.
    pub(crate) fn new(addresses: Vec<IpAddr>, registry: usize) -> Result<Self, TrialError> {
        Ok(Self { files: Files::new(addresses, registry)?, associations: None })
    }

    /// The configuration of the gateway with this number.
    pub(crate) fn complete(&self, config: Config, access_point: usize) -> Config {
        self.files.complete(config, access_point)
    }

    /// The observer that has the gateways told of associations in the model.
    pub(crate) fn observer(&mut self, stations: Stations) -> Result<Box<dyn Observer>, TrialError> {
        let sockets = (0..stations.access_points.len()).map(|number| self.files.socket(number)).collect();
        let (associations, observer) = Associations::follow(Followed { stations, sockets })?;
        self.associations = Some(associations);
        Ok(observer)
    }

    /// When they served the clients. The observer must have been dropped.
    pub(crate) fn served(&mut self) -> Result<Vec<Served>, TrialError> {
        self.associations.take().map_or(Ok(Vec::new()), Associations::finish)
    }
}
