//! Stations that walk: each cell's at once, when the first of them has come somewhere else.

use lasthop_packet::Instant;

use super::World;
use crate::id::{StationId, WlanId};
use crate::mobility::{RandomWaypoint, Walker};
use crate::schedule::Event;
use crate::wifi::Position;

/// The walks of a cell's stations.
pub(super) struct Movement {
    model: RandomWaypoint,
    walkers: Vec<(StationId, Walker)>,
    positions: Vec<(StationId, Position)>,
}

impl World {
    /// Makes stations of a cell walk from where they stand, from now on. Each has a stream of
    /// randomness of its own, by its cell's and its node's name, so that it walks the same way
    /// whatever else happens.
    pub fn walk(&mut self, wlan: WlanId, name: &str, model: RandomWaypoint, stations: &[StationId]) {
        let walkers: Vec<(StationId, Walker)> = stations
            .iter()
            .map(|&station| {
                let node = self.links.cells.node(wlan, station);
                let rng = self.stream(&format!("wlan {name} walk {}", self.node_name(node)));
                (station, Walker::new(&model, self.wlan(wlan).position(station), self.transit.now, rng))
            })
            .collect();
        let Some(first) = next_step(&walkers, &model, self.transit.now) else { return };
        self.links.cells.expect_moves(wlan);
        let positions = Vec::with_capacity(walkers.len());
        if self.movements.len() <= wlan.index() {
            self.movements.resize_with(wlan.index() + 1, || None);
        }
        self.movements[wlan.index()] = Some(Box::new(Movement { model, walkers, positions }));
        self.transit.schedule.push(first, Event::Movement(wlan));
    }

    pub(super) fn on_movement(&mut self, wlan: WlanId) {
        let now = self.transit.now;
        let Some(mut movement) = self.movements[wlan.index()].take() else { return };
        let Movement { model, walkers, positions } = &mut *movement;
        positions.clear();
        let moved = walkers.iter_mut().map(|(station, walker)| (*station, walker.position(model, now)));
        positions.extend(moved);
        let next = next_step(walkers, model, now);
        self.move_stations(wlan, &movement.positions);
        self.movements[wlan.index()] = Some(movement);
        if let Some(next) = next {
            self.transit.schedule.push(next, Event::Movement(wlan));
        }
    }
}

/// When the cell's stations move next: an interval on at the earliest, so that those who arrive in
/// between do not each cost a step.
fn next_step(walkers: &[(StationId, Walker)], model: &RandomWaypoint, now: Instant) -> Option<Instant> {
    let next = walkers.iter().map(|(_, walker)| walker.next_step(model, now)).min()?;
    Some(next.max(now + model.interval))
}
