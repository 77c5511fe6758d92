//! What to tell a running world whose scenario has changed.

use std::time::Duration;

use lasthop_sim::world::{Change, Way};
use lasthop_sim::{ChannelConfig, Direction, Jitter};

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
        if old.loss.value().to_bits() != new.loss.value().to_bits() {
            changes.push((way, Change::Loss(new.loss)));
        }
    }
    if old.delay != new.delay {
        changes.push((Way::Both, Change::Delay(new.delay.0, new.delay.1)));
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
    delay: (Duration, Jitter),
    channel: Option<&'a ChannelConfig>,
}

impl<'a> View<'a> {
    fn of(model: &'a LinkModel) -> Option<Self> {
        Some(match &model.link {
            Link::Radio { .. } => return None,
            Link::Wired(config) => Self {
                forward: &config.forward,
                backward: &config.backward,
                delay: (config.delay, config.jitter),
                channel: None,
            },
            Link::Wireless { config, .. } => Self {
                forward: &config.forward,
                backward: &config.backward,
                delay: (config.delay, config.jitter),
                channel: Some(&config.channel),
            },
        })
    }
}
