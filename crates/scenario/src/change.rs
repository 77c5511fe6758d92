//! What to tell a world whose scenario changes: at once, or at given times.

use std::collections::BTreeMap;

use lasthop_packet::Instant;
use lasthop_sim::world::{Change, ChangeError, PlannedChange, Way};
use lasthop_sim::{ChannelConfig, Direction, LinkId, NodeConfig, NodeKind, World};

use crate::model::{Link, LinkModel, Scenario};

impl Scenario {
    /// The changes that make this scenario's links those of `new`, which has the same links: the
    /// index of a link, and what [`lasthop_sim::World::reconfigure_link`] is to be told. What
    /// cannot change while a world runs is not looked at.
    pub fn changes_of_links(&self, new: &Self) -> Vec<(usize, Way, Change)> {
        let pairs = self.links.iter().zip(&new.links).enumerate();
        pairs
            .flat_map(|(index, (old, new))| changes(old, new).map(move |(way, change)| (index, way, change)))
            .collect()
    }

    /// What a world is to be told of the changes at given times. `links`: the scenario's in the world.
    /// With `without_loss`, loss stays as it is.
    pub fn planned_changes(&self, links: &[LinkId], without_loss: bool) -> Vec<PlannedChange> {
        let mut latest: BTreeMap<usize, &LinkModel> = BTreeMap::new();
        let mut planned = Vec::new();
        for change in &self.changes {
            let before = latest.insert(change.link, &change.model).unwrap_or(&self.links[change.link]);
            let (at, link) = (Instant::ZERO + change.at, links[change.link]);
            let of_loss =
                |change: &Change| matches!(change, Change::Loss(_) | Change::Faults(_) | Change::Channel(_));
            let changes =
                changes(before, &change.model).filter(|(_, change)| !(without_loss && of_loss(change)));
            planned.extend(changes.map(|(way, change)| PlannedChange { at, link, way, change }));
        }
        planned
    }
}

impl LinkModel {
    /// Whether a link can become this one while packets are on it; asked of one that is built for
    /// that.
    pub(crate) fn check_change(&self, new: &Self) -> Result<(), ChangeError> {
        let mut world = World::new(0);
        let [first, second] =
            ["first", "second"].map(|name| world.add_node(NodeConfig::new(name, NodeKind::Router)));
        let link = match &self.link {
            Link::Wired(config) => world.add_wired_link(first, second, config),
            Link::Wireless { config, .. } => world.add_wireless_link(first, second, config),
            Link::Radio { .. } => return Err(ChangeError::Radio),
        };
        changes(self, new).try_for_each(|(way, change)| world.can_reconfigure_link(link, way, &change))
    }
}

fn changes(old: &LinkModel, new: &LinkModel) -> impl Iterator<Item = (Way, Change)> {
    let mut changes = Vec::new();
    // What a cell is like cannot change.
    let (Some(old), Some(new)) = (View::of(old), View::of(new)) else { return changes.into_iter() };
    for (way, old, new) in
        [(Way::Forward, old.forward, new.forward), (Way::Backward, old.backward, new.backward)]
    {
        if old.capacity != new.capacity {
            changes.push((way, Change::Capacity(new.capacity.clone())));
        }
        if old.queue != new.queue {
            changes.push((way, Change::Queue(new.queue)));
        }
        if old.loss != new.loss {
            changes.push((way, Change::Loss(new.loss.clone())));
        }
        if old.faults != new.faults {
            changes.push((way, Change::Faults(new.faults)));
        }
        if old.delay != new.delay {
            changes.push((way, Change::Delay(new.delay.clone())));
        }
    }
    if old.channel != new.channel
        && let Some(channel) = new.channel
    {
        changes.push((Way::Both, Change::Channel(channel.clone())));
    }
    changes.into_iter()
}

/// What can change of a link.
struct View<'a> {
    forward: &'a Direction,
    backward: &'a Direction,
    channel: Option<&'a ChannelConfig>,
}

impl<'a> View<'a> {
    fn of(model: &'a LinkModel) -> Option<Self> {
        Some(match &model.link {
            Link::Radio { .. } => return None,
            Link::Wired(config) => {
                Self { forward: &config.forward, backward: &config.backward, channel: None }
            }
            Link::Wireless { config, .. } => {
                Self { forward: &config.forward, backward: &config.backward, channel: Some(&config.channel) }
            }
        })
    }
}
