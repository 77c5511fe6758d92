//! The movement of stations: random waypoints, and paths. All stations of a cell are moved at once, when the first of
//! them has come somewhere else.

mod path;
mod waypoint;

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_wifi::{Position, StationId};

use crate::id::WlanId;

pub use path::Path;
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
    interval: Duration,
    walkers: Vec<Walking>,
    positions: Vec<(StationId, Position)>,
}

/// A station that moves.
struct Walking {
    station: StationId,
    course: Course,
    /// Where it was last.
    at: Position,
}

enum Course {
    Random(RandomWaypoint, Walker),
    Path(Path),
}

impl Movement {
    /// Stations that walk at random.
    pub(crate) fn random(model: RandomWaypoint, walkers: Vec<(StationId, Position, Walker)>) -> Self {
        let walking = |(station, at, walker)| Walking { station, course: Course::Random(model, walker), at };
        Self::new(model.interval, walkers.into_iter().map(walking).collect())
    }

    /// Stations that follow paths. Their positions are updated each `interval`.
    pub(crate) fn along(interval: Duration, paths: Vec<(StationId, Position, Path)>) -> Self {
        let walking = |(station, at, path)| Walking { station, course: Course::Path(path), at };
        Self::new(interval, paths.into_iter().map(walking).collect())
    }

    fn new(interval: Duration, walkers: Vec<Walking>) -> Self {
        Self { interval, positions: Vec::with_capacity(walkers.len()), walkers }
    }

    /// The stations that are somewhere else by now, and where.
    pub(crate) fn positions(&mut self, now: Instant) -> &[(StationId, Position)] {
        let Self { walkers, positions, .. } = self;
        positions.clear();
        for Walking { station, course, at } in walkers {
            let position = course.position(now);
            if std::mem::replace(at, position) != position {
                positions.push((*station, position));
            }
        }
        positions
    }

    /// When they move next: an interval on at the earliest, so that those who arrive in between do
    /// not each cost a step. `None` if there are none.
    pub(crate) fn next_step(&self, now: Instant) -> Option<Instant> {
        let next =
            self.walkers.iter().filter_map(|walking| walking.course.next_step(now, self.interval)).min()?;
        Some(next.max(now + self.interval))
    }
}

impl Course {
    fn position(&mut self, now: Instant) -> Position {
        match self {
            Self::Random(model, walker) => walker.position(model, now),
            Self::Path(path) => path.position(now),
        }
    }

    fn next_step(&self, now: Instant, interval: Duration) -> Option<Instant> {
        match self {
            Self::Random(model, walker) => Some(walker.next_step(model, now)),
            Self::Path(path) => path.moves_from(now).map(|at| at + interval),
        }
    }
}
