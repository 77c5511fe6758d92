//! Stations by place and channel, so that those near a place are found without a look at all others.

use std::collections::BTreeMap;

use crate::propagation::Position;
use crate::station::Channel;

/// A square of the plane, on one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Square {
    channel: Channel,
    x: i32,
    y: i32,
}

/// The stations in each square. Stations that hear each other are in the same square, or in squares that
/// touch.
#[derive(Debug)]
pub(super) struct Grid {
    /// The side of a square, in meters; `None`: one square is the whole plane.
    side: Option<f64>,
    /// Squares without stations have no entry.
    stations: BTreeMap<Square, Vec<u32>>,
}

impl Grid {
    /// A grid for stations that hear each other up to this distance in meters, or at any distance.
    pub(super) fn new(range: Option<f64>) -> Self {
        // A square is a millionth larger than the range, which outweighs the rounding of its number.
        Self { side: range.map(|range| range.max(1.0) * (1.0 + 1e-6)), stations: BTreeMap::new() }
    }

    pub(super) fn square(&self, channel: Channel, at: Position) -> Square {
        // The conversion saturates: whoever is that far away is in the last square.
        let number = |meters: f64| self.side.map_or(0, |side| (meters / side).floor() as i32);
        Square { channel, x: number(at.x), y: number(at.y) }
    }

    pub(super) fn add(&mut self, station: u32, square: Square) {
        self.stations.entry(square).or_default().push(station);
    }

    pub(super) fn remove(&mut self, station: u32, square: Square) {
        if let Some(stations) = self.stations.get_mut(&square) {
            stations.retain(|other| *other != station);
            if stations.is_empty() {
                self.stations.remove(&square);
            }
        }
    }

    /// The stations in a square and in those that touch it, in no particular order.
    pub(super) fn near(&self, square: Square) -> impl Iterator<Item = u32> {
        let Square { channel, x, y } = square;
        let columns = x.saturating_sub(1)..=x.saturating_add(1);
        let (bottom, top) = (y.saturating_sub(1), y.saturating_add(1));
        columns
            .flat_map(move |x| {
                self.stations.range(Square { channel, x, y: bottom }..=Square { channel, x, y: top })
            })
            .flat_map(|(_, stations)| stations.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Propagation, TwoRayGround};

    proptest! {
        #[test]
        fn a_station_that_is_heard_is_near(
            model in 0..4,
            scale in prop_oneof![Just(1.0), Just(1e3), Just(1e9)],
            places in proptest::collection::vec((0_u16..2, -900.0..900.0, -900.0..900.0), 1..40),
        ) {
            let propagation = match model {
                0 => Propagation::Everywhere,
                1 => Propagation::Ranges { reception: 0.0, carrier_sense: 0.0 },
                2 => Propagation::Ranges { reception: 50.0, carrier_sense: 110.0 },
                _ => Propagation::TwoRayGround(TwoRayGround::WAVELAN),
            };
            let mut grid = Grid::new(propagation.carrier_sense_range());
            let places: Vec<_> = places
                .into_iter()
                .map(|(channel, x, y)| (Channel(channel), Position::new(x * scale, y)))
                .collect();
            for (station, (channel, at)) in places.iter().enumerate() {
                let square = grid.square(*channel, *at);
                grid.add(station as u32, square);
            }
            for (channel, at) in &places {
                let near: Vec<u32> = grid.near(grid.square(*channel, *at)).collect();
                for (station, (its_channel, its_place)) in places.iter().enumerate() {
                    let is_heard = channel == its_channel && propagation.senses(*at, *its_place);
                    prop_assert!(!is_heard || near.contains(&(station as u32)));
                    prop_assert!(channel == its_channel || !near.contains(&(station as u32)));
                }
            }
        }
    }
}
