//! Access points and clients that roam: from the scenario to the world.

use std::collections::BTreeMap;

use lasthop_packet::Instant;
use lasthop_sim::ess::AccessPointConfig;
use lasthop_sim::{AccessPointMember, ClientMember, HandOffConfig, LinkId, NodeId, WlanId, World};

use super::built::BuiltWlan;
use crate::model::{Scenario, WlanModel};

/// The links of clients, which are added cell by cell.
#[derive(Default)]
pub(super) struct RoamingLinks(BTreeMap<WlanId, std::vec::IntoIter<LinkId>>);

impl RoamingLinks {
    /// The link of a cell's next client. `names`: those of the links of all its clients.
    pub(super) fn next<'a>(
        &mut self,
        world: &mut World,
        (model, names): (&WlanModel, impl Iterator<Item = &'a str>),
        built: &mut BuiltWlan,
    ) -> LinkId {
        let wlan = built.wlan;
        let add = || add_service_set(world, (model, names), built).into_iter();
        let links = self.0.entry(wlan).or_insert_with(add);
        // There are as many links as clients.
        links.next().expect("each client has one link")
    }
}

/// Adds the service set of a cell. Returns the links of its clients.
fn add_service_set<'a>(
    world: &mut World,
    (model, names): (&WlanModel, impl Iterator<Item = &'a str>),
    built: &mut BuiltWlan,
) -> Vec<LinkId> {
    let Some(roaming) = &model.roaming else { return Vec::new() };
    let (access_points, clients) = built.stations.split_at(roaming.access_points);
    let security = roaming.config.sizes.security;
    let config = AccessPointConfig { security, ..AccessPointConfig::default() };
    let access_points = access_points.iter();
    let access_points =
        access_points.map(|station| AccessPointMember { station: *station, config: config.clone() });
    let access_points = access_points.collect();
    let clients = clients.iter().zip(names).map(|(station, link)| ClientMember {
        link: link.to_owned(),
        station: *station,
        config: roaming.client.clone(),
        start: Instant::ZERO,
    });
    let clients = clients.collect();
    let (set, links) = world.add_service_set(built.wlan, &model.name, roaming.config, access_points, clients);
    if let Some(steering) = roaming.steering {
        world.control(set, steering);
    }
    built.service_set = Some(set);
    links
}

impl Scenario {
    /// The cell in which a node is one of several access points, and its number there.
    pub(super) fn access_point(&self, node: usize) -> Option<(usize, u32)> {
        let number_in = |(index, cell): (usize, &WlanModel)| {
            let number = cell.access_points().position(|access_point| access_point == node)?;
            Some((index, u32::try_from(number).ok()?))
        };
        self.wlans.iter().enumerate().find_map(number_in)
    }

    /// Access points hand over what they know of clients, where the scenario says so: agents' state, if there are agents,
    /// and translations.
    pub(super) fn hand_over(
        &self,
        world: &mut World,
        nodes: &[NodeId],
        wlans: &[BuiltWlan],
        has_agents: bool,
    ) {
        for (model, built) in self.wlans.iter().zip(wlans) {
            let (Some(set), Some(roaming)) = (built.service_set, &model.roaming) else { continue };
            let central = roaming.nat.as_ref().and_then(|nat| nat.central).map(|central| nodes[central]);
            if let Some(registry) = roaming.registry.filter(|_| has_agents || central.is_some()) {
                world.hand_over(set, HandOffConfig { central, ..HandOffConfig::new(nodes[registry]) });
            }
        }
    }
}
