//! Translates changes of a scenario to changes of its world, at once or at given times.

use std::collections::BTreeMap;

use lasthop_packet::Instant;
use lasthop_sim::world::{Change, ChangeError, LinkDirection, PlannedChange, PlannedInterval};
use lasthop_sim::{ChannelConfig, Cut, Direction, LinkId, NodeConfig, NodeKind, Selection, World};

use crate::model::{Link, LinkInterval, LinkModel, Property, Scenario};

impl Scenario {
    /// The changes that turn this scenario's links into those of `new`, which has the same links:
    /// the index of a link, and the change for [`lasthop_sim::World::reconfigure_link`].
    /// Differences that a running world cannot adopt are ignored.
    pub fn changes_of_links(&self, new: &Self) -> Vec<(usize, LinkDirection, Change)> {
        let pairs = self.links.iter().zip(&new.links).enumerate();
        pairs
            .flat_map(|(index, (old, new))| changes(old, new).map(move |(way, change)| (index, way, change)))
            .collect()
    }

    /// The changes of a world at given times. `links` are the ids of the scenario's links in the
    /// world. With `without_loss`, changes of loss are left out.
    pub fn planned_changes(&self, links: &[LinkId], without_loss: bool) -> Vec<PlannedChange> {
        let mut latest: BTreeMap<usize, &LinkModel> = BTreeMap::new();
        let mut planned = Vec::new();
        for change in &self.changes {
            let before = latest.insert(change.link, &change.model).unwrap_or(&self.links[change.link]);
            let (at, link) = (Instant::ZERO + change.at, links[change.link]);
            let resets = change.set.iter().any(|(key, _)| is_of_connections(key));
            let reset_again = resets.then(|| before.before_reset());
            let before = reset_again.as_ref().unwrap_or(before);
            let changes =
                changes(before, &change.model).filter(|(_, change)| !(without_loss && is_of_loss(change)));
            planned.extend(changes.map(|(way, change)| PlannedChange { at, link, way, change }));
        }
        planned
    }

    /// The changes of a world that end again. `links` are the ids of the scenario's links in the
    /// world. With `without_loss`, changes of loss are left out.
    pub fn planned_intervals(&self, links: &[LinkId], without_loss: bool) -> Vec<PlannedInterval> {
        let mut planned = Vec::new();
        for LinkInterval { link, within, properties, first, length, period } in &self.intervals {
            let Some((outside, within)) = View::from_model(&self.links[*link]).zip(View::from_model(within))
            else {
                continue;
            };
            for (way, property) in
                PROPERTIES.into_iter().filter(|(_, property)| properties.contains(property))
            {
                let changes = outside.change(way, property).zip(within.change(way, property));
                let Some((outside, within)) =
                    changes.filter(|(change, _)| !(without_loss && is_of_loss(change)))
                else {
                    continue;
                };
                planned.push(PlannedInterval {
                    link: links[*link],
                    way: if way == LinkDirection::Both { LinkDirection::Forward } else { way },
                    within,
                    outside,
                    first: Instant::ZERO + *first,
                    length: *length,
                    period: *period,
                });
            }
        }
        planned
    }
}

/// Whether a key of a scenario selects the connections that a link cuts.
pub(crate) fn is_of_connections(key: &str) -> bool {
    key.rsplit('.').next() == Some("connections")
}

impl LinkModel {
    /// The link before it reset connections. A reset takes no time, so that setting the same value
    /// again resets connections again.
    pub(crate) fn before_reset(&self) -> Self {
        let cut = if self.cut == Cut::Standing { Cut::None } else { self.cut };
        Self { cut, ..self.clone() }
    }

    /// Checks on a link in a world of its own whether this link can become `new` while packets are
    /// on it.
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

fn changes(old: &LinkModel, new: &LinkModel) -> impl Iterator<Item = (LinkDirection, Change)> {
    // Links of a cell cannot change.
    let views = View::from_model(old).zip(View::from_model(new));
    let differing = views.into_iter().flat_map(|(old, new)| {
        PROPERTIES.into_iter().filter_map(move |(way, property)| {
            let change = new.change(way, property)?;
            (old.change(way, property).as_ref() != Some(&change)).then_some((way, change))
        })
    });
    differing.collect::<Vec<_>>().into_iter()
}

/// The properties of both directions, and those that they share.
const PROPERTIES: [(LinkDirection, Property); 13] = {
    use LinkDirection::{Backward, Both, Forward};
    use Property::{Capacity, Channel, Cut, Delay, Faults, Loss, Queue, Selection};
    [
        (Forward, Capacity),
        (Forward, Queue),
        (Forward, Loss),
        (Forward, Faults),
        (Forward, Delay),
        (Backward, Capacity),
        (Backward, Queue),
        (Backward, Loss),
        (Backward, Faults),
        (Backward, Delay),
        (Both, Channel),
        (Both, Selection),
        (Both, Cut),
    ]
};

/// Whether a change is of a property that the row without loss leaves out.
const fn is_of_loss(change: &Change) -> bool {
    matches!(change, Change::Loss(_) | Change::Faults(_) | Change::Channel(_))
}

/// A view of the parts of a link that can change.
struct View<'a> {
    forward: &'a Direction,
    backward: &'a Direction,
    channel: Option<&'a ChannelConfig>,
    selection: &'a Selection,
    cut: Cut,
}

impl<'a> View<'a> {
    /// The change that gives a property of a direction its value here.
    fn change(&self, way: LinkDirection, property: Property) -> Option<Change> {
        let direction = if way == LinkDirection::Backward { self.backward } else { self.forward };
        Some(match property {
            Property::Capacity => Change::Capacity(direction.capacity.clone()),
            Property::Queue => Change::Queue(direction.queue),
            Property::Loss => Change::Loss(direction.loss.clone()),
            Property::Faults => Change::Faults(direction.faults),
            Property::Delay => Change::Delay(direction.delay.clone()),
            Property::Channel => Change::Channel(self.channel?.clone()),
            Property::Selection => Change::Selection(self.selection.clone()),
            Property::Cut => Change::Cut(self.cut),
        })
    }

    fn from_model(model: &'a LinkModel) -> Option<Self> {
        let (forward, backward, channel) = match &model.link {
            Link::Radio { .. } => return None,
            Link::Wired(config) => (&config.forward, &config.backward, None),
            Link::Wireless { config, .. } => (&config.forward, &config.backward, Some(&config.channel)),
        };
        Some(Self { forward, backward, channel, selection: &model.selection, cut: model.cut })
    }
}
