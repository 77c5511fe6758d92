//! Paths: places with the times at which a station is there. Between two of them it goes straight, at a constant speed.

use lasthop_packet::Instant;
use lasthop_wifi::Position;

/// Places and times, in order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Path(Vec<(Instant, Position)>);

impl Path {
    /// A path through these points: where a station is at which time. `None` if there are none, or times do not rise.
    pub fn new(points: Vec<(Instant, Position)>) -> Option<Self> {
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        (rises && !points.is_empty()).then_some(Self(points))
    }

    /// Where it is at this time: at its first point before it sets out, at its last one after it has arrived.
    pub fn position(&self, now: Instant) -> Position {
        let next = self.0.partition_point(|(at, _)| *at <= now);
        let Some((end, to)) = self.0.get(next) else { return self.0[self.0.len() - 1].1 };
        let Some((start, from)) = next.checked_sub(1).map(|before| self.0[before]) else { return *to };
        let part = now.since(start).as_secs_f64() / end.since(start).as_secs_f64();
        let between = |from: f64, to: f64| from + (to - from) * part;
        Position::new(between(from.x, to.x), between(from.y, to.y))
    }

    /// Whether it moves after this time, and when it does so first, if it does not move now.
    pub(super) fn moves_from(&self, now: Instant) -> Option<Instant> {
        let next = self.0.partition_point(|(at, _)| *at <= now);
        let start = next.saturating_sub(1);
        let pairs = self.0.get(start..)?.windows(2);
        pairs.filter(|pair| pair[0].1 != pair[1].1).map(|pair| pair[0].0.max(now)).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_goes_straight_from_point_to_point() {
        let at = |second, x, y| (Instant::from_secs(second), Position::new(x, y));
        let path =
            Path::new(vec![at(10, 0.0, 0.0), at(20, 10.0, 0.0), at(30, 10.0, 0.0), at(40, 10.0, 20.0)]);
        let path = path.expect("its times rise");
        let cases = [(0, 0.0, 0.0), (15, 5.0, 0.0), (25, 10.0, 0.0), (35, 10.0, 10.0), (99, 10.0, 20.0)];
        for (second, x, y) in cases {
            assert_eq!(path.position(Instant::from_secs(second)), Position::new(x, y), "at {second} s");
        }
        let moves =
            [(0, Some(10)), (12, Some(12)), (20, Some(30)), (25, Some(30)), (35, Some(35)), (40, None)];
        for (second, expected) in moves {
            let from = path.moves_from(Instant::from_secs(second));
            assert_eq!(from, expected.map(Instant::from_secs), "at {second} s");
        }
    }

    #[test]
    fn a_path_has_points_whose_times_rise() {
        let at = |second| (Instant::from_secs(second), Position::default());
        assert_eq!(Path::new(vec![]), None);
        assert_eq!(Path::new(vec![at(1), at(1)]), None);
        assert_eq!(Path::new(vec![at(2), at(1)]), None);
    }
}
