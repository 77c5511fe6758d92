//! Changes of a link while packets are on it.

use super::World;
use crate::change::{Change, ChangeError, Way};
use crate::id::LinkId;
use crate::technology::Egress;

impl World {
    /// Changes a link, now. After an error nothing has changed.
    pub fn reconfigure_link(&mut self, link: LinkId, way: Way, change: &Change) -> Result<(), ChangeError> {
        self.can_reconfigure_link(link, way, change)?;
        for egress in self.changed(link, way, change) {
            let (links, port) = self.links.of_mut(egress);
            links.change(port, change, &mut self.transit);
        }
        Ok(())
    }

    /// Whether a link can be changed so. No other change makes this one impossible: several of
    /// which each is possible can all be made.
    pub fn can_reconfigure_link(&self, link: LinkId, way: Way, change: &Change) -> Result<(), ChangeError> {
        for egress in self.changed(link, way, change) {
            let (links, port) = self.links.of(egress);
            links.can_change(port, change)?;
        }
        Ok(())
    }

    /// The directions that are to be told of a change.
    fn changed(&self, link: LinkId, way: Way, change: &Change) -> impl Iterator<Item = Egress> + use<> {
        let (first, second) = self.link_ends(link);
        let [first, second] = [first, second].map(|node| {
            let interface = self.network.interface_to(node, link)?;
            Some(self.network.interface((node, interface)).egress)
        });
        let egresses = match way {
            // Both directions have one channel.
            _ if matches!(change, Change::Channel(_)) => [first, None],
            Way::Forward => [first, None],
            Way::Backward => [None, second],
            Way::Both => [first, second],
        };
        egresses.into_iter().flatten()
    }
}
