//! The initial positions of stations.

use std::collections::VecDeque;

use lasthop_packet::{Instant, Rng};
use lasthop_sim::mobility::RandomWaypoint;
use lasthop_wifi::{Position, Propagation};

use super::{BuildError, program};
use crate::model::{Scenario, WlanModel};

/// The number of draws after which a placement counts as impossible.
const MAX_DRAWS: u32 = 10_000;

/// The initial positions of each cell's stations.
pub(crate) fn of_stations(scenario: &Scenario, seed: u64) -> Result<Vec<Vec<Position>>, BuildError> {
    scenario.wlans.iter().map(|model| places(model, seed)).collect()
}

/// The stations' initial positions, in their order: drawn for this seed, or given. Draws repeat
/// until the two stations of `apart` have the required distance; the others may be anywhere.
fn places(model: &WlanModel, seed: u64) -> Result<Vec<Position>, BuildError> {
    let given = model.stations.iter().map(|station| station.config.position);
    if let Some(program) = &model.program {
        let mut places: Vec<Position> = given.collect();
        for (station, path) in program::paths(model, program, seed) {
            places[station] = path.position(Instant::ZERO);
        }
        return Ok(places);
    }
    let Some(placement) = model.placement else { return Ok(given.collect()) };
    let mut rng = Rng::named(seed, &format!("wlan {} places", model.name));
    let fixed = model.access_points().count();
    for _ in 0..MAX_DRAWS {
        let places: Vec<Position> = model
            .stations
            .iter()
            .enumerate()
            .map(|(index, station)| {
                // Access points among which clients roam stand where they are given.
                if index < fixed {
                    station.config.position
                } else {
                    RandomWaypoint::anywhere(placement.area, &mut rng)
                }
            })
            .collect();
        let is_good = placement.apart.is_none_or(|(from, to, apart)| {
            hops(&places, &model.config.propagation, from, to) == Some(apart)
        });
        if is_good {
            return Ok(places);
        }
    }
    Err(BuildError::Placement { wlan: model.name.clone(), seed, draws: MAX_DRAWS })
}

/// The number of hops on the shortest path from one position to another.
fn hops(places: &[Position], propagation: &Propagation, from: usize, to: usize) -> Option<usize> {
    let mut hops: Vec<Option<usize>> = vec![None; places.len()];
    hops[from] = Some(0);
    let mut frontier = VecDeque::from([from]);
    while let Some(at) = frontier.pop_front() {
        for next in 0..places.len() {
            if hops[next].is_none() && propagation.reaches(places[at], places[next]) {
                hops[next] = hops[at].map(|hops| hops + 1);
                frontier.push_back(next);
            }
        }
    }
    hops[to]
}
