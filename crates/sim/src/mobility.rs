//! The movement of stations: random waypoints. All stations of a cell are moved at once, when the first of
//! them has come somewhere else.

mod waypoint;

use lasthop_packet::Instant;
use lasthop_wifi::{Position, StationId};

use crate::id::WlanId;

pub use waypoint::{RandomWaypoint, Walker};

/// By cell, how its stations move.
#[derive(Default)]
pub(crate) struct Movements {
    cells: Vec<Option<Box<Movement>>>,
}

impl Movements {
    pub(crate) fn set(&mut self, cell: WlanId, movement: Movement) {
        if self.cells.len() <= cell.index() {
            self.cells.resize_with(cell.index() + 1, || None);
        }
        self.cells[cell.index()] = Some(Box::new(movement));
    }

    /// How the stations of a cell move, if they do.
    pub(crate) fn of(&mut self, cell: WlanId) -> Option<&mut Movement> {
        self.cells.get_mut(cell.index())?.as_deref_mut()
    }
}

/// How the stations of a cell move.
pub(crate) struct Movement {
    model: RandomWaypoint,
    walkers: Vec<(StationId, Walker)>,
    positions: Vec<(StationId, Position)>,
}

impl Movement {
    pub(crate) fn new(model: RandomWaypoint, walkers: Vec<(StationId, Walker)>) -> Self {
        let positions = Vec::with_capacity(walkers.len());
        Self { model, walkers, positions }
    }

    /// Where the stations are by now.
    pub(crate) fn positions(&mut self, now: Instant) -> &[(StationId, Position)] {
        let Self { model, walkers, positions } = self;
        positions.clear();
        positions.extend(walkers.iter_mut().map(|(station, walker)| (*station, walker.position(model, now))));
        positions
    }

    /// When they move next: an interval on at the earliest, so that those who arrive in between do
    /// not each cost a step. `None` if there are none.
    pub(crate) fn next_step(&self, now: Instant) -> Option<Instant> {
        let next = self.walkers.iter().map(|(_, walker)| walker.next_step(&self.model, now)).min()?;
        Some(next.max(now + self.model.interval))
    }
}
