//! Changes of a link while packets are on it.

use super::World;
use crate::change::{Change, ChangeError, Way};
use crate::id::LinkId;
use crate::technology::At;

impl World {
    /// Changes a link, now. After an error nothing has changed.
    pub fn reconfigure_link(&mut self, link: LinkId, way: Way, change: &Change) -> Result<(), ChangeError> {
        self.can_reconfigure_link(link, way, change)?;
        for way in ways(way, change) {
            if self.intervals.lets_through(link, way, change) {
                self.make_change(link, way, change);
            }
        }
        Ok(())
    }

    /// Changes one direction, whatever interval it is in.
    pub(super) fn make_change(&mut self, link: LinkId, way: Way, change: &Change) {
        for [from, to] in self.changed(link, way, change) {
            if let Change::Faults(faults) = change {
                self.faults.set(to, *faults);
                continue;
            }
            let (links, port) = self.links.of_mut(self.network.interface(from).egress);
            links.change(port, change, &mut self.transit);
        }
        if matches!(change, Change::Capacity(_)) {
            self.resume_sources();
        }
    }

    /// Whether a link can be changed so. No other change makes this one impossible: several of
    /// which each is possible can all be made.
    pub fn can_reconfigure_link(&self, link: LinkId, way: Way, change: &Change) -> Result<(), ChangeError> {
        for [from, _] in self.changed(link, way, change) {
            let (links, port) = self.links.of(self.network.interface(from).egress);
            links.can_change(port, change)?;
        }
        Ok(())
    }

    /// The directions that are to be told of a change: each with the interface that its packets
    /// leave by, and the one that they arrive at.
    fn changed(&self, link: LinkId, way: Way, change: &Change) -> impl Iterator<Item = [At; 2]> + use<> {
        let (first, second) = self.link_ends(link);
        let [first, second] =
            [first, second].map(|node| Some((node, self.network.interface_to(node, link)?)));
        let ends = first.zip(second);
        let forward = ends.map(|(first, second)| [first, second]);
        let backward = ends.map(|(first, second)| [second, first]);
        let directions = match way {
            // Both directions have one channel.
            _ if matches!(change, Change::Channel(_)) => [forward, None],
            Way::Forward => [forward, None],
            Way::Backward => [None, backward],
            Way::Both => [forward, backward],
        };
        directions.into_iter().flatten()
    }
}

/// The directions of a change, one by one. Both directions have one channel, which is told once.
fn ways(way: Way, change: &Change) -> impl Iterator<Item = Way> + use<> {
    let ways = match way {
        _ if matches!(change, Change::Channel(_)) => [Some(Way::Forward), None],
        Way::Both => [Some(Way::Forward), Some(Way::Backward)],
        one => [Some(one), None],
    };
    ways.into_iter().flatten()
}
