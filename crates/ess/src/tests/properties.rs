//! Properties of random histories, in which frames are lost, clients move and access points fail.

use std::collections::BTreeSet;

use lasthop_packet::Instant;
use proptest::prelude::*;

use super::air::{Air, config};
use crate::client::{Margin, Output, Steering};
use crate::{AccessPointConfig, AccessPointId, ClientConfig, ClientId, Security};

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    access_points: Vec<f64>,
    clients: usize,
    loss: f64,
    security: Security,
    steering: Steering,
    /// What happens each second: a client goes to a place, or is asked to change its access point or for a
    /// report, or an access point dies.
    events: Vec<(u8, u8, f64)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let security =
        prop_oneof![Just(Security::Open), Just(Security::FourWayHandshake), Just(Security::FastTransition)];
    let steering = prop_oneof![Just(Steering::Follow), Just(Steering::IfStronger), Just(Steering::Refuse)];
    (
        any::<u64>(),
        prop::collection::vec(0.0..120.0, 1..6),
        1usize..6,
        0.0..0.5,
        security,
        steering,
        prop::collection::vec((any::<u8>(), any::<u8>(), 0.0..120.0), 0..30),
    )
        .prop_map(|(seed, access_points, clients, loss, security, steering, events)| Case {
            seed,
            access_points,
            clients,
            loss,
            security,
            steering,
            events,
        })
}

fn run(case: &Case) -> Air {
    let config_of_all = AccessPointConfig { security: case.security, ..AccessPointConfig::default() };
    let mut air = Air::new(&case.access_points, &config_of_all, case.seed);
    air.loss = case.loss;
    let short_interval = std::time::Duration::from_secs(2);
    for index in 0..case.clients {
        let margin = if index % 2 == 0 { Margin::BySignal } else { Margin::Fixed(0) };
        let config = ClientConfig { steering: case.steering, margin, short_interval, ..config() };
        air.add(20.0 * index as f64, config);
    }
    for (second, (kind, which, metres)) in case.events.iter().enumerate() {
        air.run(Instant::from_millis(1_000 * second as u64 + 137));
        let client = ClientId(u32::from(*which) % case.clients as u32);
        let access_point = AccessPointId(u32::from(*which) % case.access_points.len() as u32);
        match kind % 8 {
            0..4 => air.clients[client.0 as usize].metres = *metres,
            4 => {
                for index in 0..case.access_points.len() {
                    air.access_points[index].0.steer(client, &[access_point]);
                }
            }
            5 => {
                air.access_points[access_point.0 as usize].0.measure(client, config().channels);
            }
            6 => air.dead.push(access_point),
            _ => air.access_points[access_point.0 as usize].0.disassociate(client),
        }
    }
    air
}

proptest! {
    #[test]
    fn a_client_leaves_what_it_joined_and_joins_only_when_it_has_left(case in cases()) {
        let air = run(&case);
        for index in 0..case.clients {
            let mut with = None;
            for (_, client, output) in &air.log {
                match output {
                    _ if client.0 as usize != index => {}
                    Output::Joined { access_point, previous } => {
                        prop_assert_eq!(with, None);
                        prop_assert_ne!(Some(*access_point), *previous);
                        with = Some(*access_point);
                    }
                    Output::Left { access_point, .. } => {
                        prop_assert_eq!(with, Some(*access_point));
                        with = None;
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(air.clients[index].client.access_point(), with);
        }
    }

    #[test]
    fn once_nothing_is_lost_each_client_has_an_access_point_that_has_it(case in cases()) {
        let mut air = run(&case);
        air.loss = 0.0;
        air.dead.clear();
        for _ in 0..60 {
            air.send_data();
            let next = air.now + std::time::Duration::from_secs(1);
            air.run(next);
        }
        for index in 0..case.clients {
            let id = ClientId(index as u32);
            let with = air.clients[index].client.access_point();
            let has: BTreeSet<_> = (0..case.access_points.len() as u32)
                .map(AccessPointId)
                .filter(|it| air.access_points[it.0 as usize].0.is_associated(id))
                .collect();
            prop_assert!(with.is_some(), "{index}");
            prop_assert_eq!(has, BTreeSet::from_iter(with));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_associations(case in cases()) {
        prop_assert_eq!(run(&case).log, run(&case).log);
    }
}
