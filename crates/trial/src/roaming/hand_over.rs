//! What gateways that hand over need of a trial: files, and word of associations.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use lasthop_gateway::Config;
use lasthop_gateway::frame::MacAddress;
use lasthop_sim::Observer;

use super::associations::{Associations, Followed, Reporter, Teller};
use super::files::Files;
use super::{Joined, Served, Stations};
use crate::error::TrialError;

/// Gateways that hand over, beside their processes.
pub(crate) struct HandOver {
    files: Files,
    access_points: usize,
    associations: Option<Associations>,
}

impl HandOver {
    /// For access points with these addresses, of which the one with the number `registry` keeps the registry. Their files are
    /// in a folder of their own in `parent`.
    pub(crate) fn new(parent: &Path, addresses: Vec<IpAddr>, registry: usize) -> Result<Self, TrialError> {
        let access_points = addresses.len();
        Ok(Self { files: Files::new(parent, addresses, registry)?, access_points, associations: None })
    }

    /// The configuration of the gateway with this number, and the control sockets of its hostapd.
    pub(crate) fn complete(&self, config: Config, access_point: usize, hostapd: Vec<PathBuf>) -> Config {
        self.files.complete(config, access_point, hostapd)
    }

    /// Follows the associations of clients with these addresses, of which hostapd tells the gateways. Returns where to
    /// report them.
    pub(crate) fn follow(&mut self, clients: Vec<MacAddress>) -> Result<Sender<Joined>, TrialError> {
        self.start(clients, Teller::Hostapd)
    }

    /// The observer that has the gateways told of associations in the model, of clients with these addresses.
    pub(crate) fn observer(
        &mut self,
        stations: Stations,
        clients: Vec<MacAddress>,
    ) -> Result<Box<dyn Observer>, TrialError> {
        let to = self.start(clients, Teller::This)?;
        Ok(Box::new(Reporter { stations, to }))
    }

    fn start(&mut self, clients: Vec<MacAddress>, teller: Teller) -> Result<Sender<Joined>, TrialError> {
        let sockets = (0..self.access_points).map(|number| self.files.socket(number)).collect();
        let (associations, joined) = Associations::follow(Followed { clients, sockets, teller })?;
        self.associations = Some(associations);
        Ok(joined)
    }

    /// When they served the clients. Who tells of associations must have been dropped.
    pub(crate) fn served(&mut self) -> Result<Vec<Served>, TrialError> {
        self.associations.take().map_or(Ok(Vec::new()), Associations::finish)
    }
}
