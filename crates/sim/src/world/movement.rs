//! Stations that walk.

use lasthop_wifi::StationId;

use super::World;
use crate::id::WlanId;
use crate::mobility::{Movement, RandomWaypoint, Walker};
use crate::schedule::Event;

impl World {
    /// Makes stations of a cell walk from where they stand, from now on. Each has a stream of
    /// randomness of its own, by its cell's and its node's name, so that it walks the same way
    /// whatever else happens.
    pub fn walk(&mut self, wlan: WlanId, name: &str, model: RandomWaypoint, stations: &[StationId]) {
        let now = self.transit.now();
        let walker = |&station: &StationId| {
            let node = self.links.cells.node(wlan, station);
            let rng = self.stream(&format!("wlan {name} walk {}", self.node_name(node)));
            (station, Walker::new(&model, self.wlan(wlan).position(station), now, rng))
        };
        let movement = Movement::new(model, stations.iter().map(walker).collect());
        let Some(first) = movement.next_step(now) else { return };
        self.links.cells.expect_moves(wlan);
        if self.movements.len() <= wlan.index() {
            self.movements.resize_with(wlan.index() + 1, || None);
        }
        self.movements[wlan.index()] = Some(Box::new(movement));
        self.transit.schedule(first, Event::Movement(wlan));
    }

    pub(super) fn on_movement(&mut self, wlan: WlanId) {
        let now = self.transit.now();
        let Some(movement) = &mut self.movements[wlan.index()] else { return };
        self.links.cells.move_stations(wlan, movement.positions(now), &mut self.transit);
        if let Some(next) = movement.next_step(now) {
            self.transit.schedule(next, Event::Movement(wlan));
        }
    }
}
