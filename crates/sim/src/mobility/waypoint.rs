//! Where stations go: random waypoints (Johnson and Maltz, "Dynamic Source Routing in Ad Hoc
//! Wireless Networks", 1996).
//!
//! A walker draws a point anywhere in the area and a speed, goes there straight, stays for the
//! pause, and draws again. The lowest speed is above zero: with speeds down to zero the mean speed
//! falls for as long as a run lasts, because the slowest walks take the longest (Yoon, Liu, Noble,
//! "Random Waypoint Considered Harmful", INFOCOM 2003). Even so the first walks are not those of a
//! run that has lasted for long: walkers begin where they stand, with a walk, and gather in the
//! middle of the area in time.

use std::time::Duration;

use lasthop_packet::{Instant, Rng};
use lasthop_wifi::Position;

/// How stations walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWaypoint {
    /// The corner of the area that is farthest east and north, in metres, from one at 0, 0.
    pub area: Position,
    /// Metres a second, from and to, above zero; uniform between them.
    pub speed: (f64, f64),
    /// The stay at each waypoint.
    pub pause: Duration,
    /// The interval between updates of the position of a station that walks; above zero.
    pub interval: Duration,
}

impl RandomWaypoint {
    /// A point anywhere in the area.
    pub fn anywhere(area: Position, rng: &mut Rng) -> Position {
        Position::new(area.x * rng.uniform(), area.y * rng.uniform())
    }
}

/// A station that walks.
#[derive(Clone, Debug)]
pub struct Walker {
    rng: Rng,
    from: Position,
    to: Position,
    start: Instant,
    arrival: Instant,
}

/// The shortest walk, so that one to where a walker stands already does not take no time for ever.
const SHORTEST: Duration = Duration::from_millis(1);

impl Walker {
    /// One who sets out from a place now.
    pub fn new(model: &RandomWaypoint, from: Position, now: Instant, rng: Rng) -> Self {
        let mut walker = Self { rng, from, to: from, start: now, arrival: now };
        walker.set_out(model, now);
        walker
    }

    fn set_out(&mut self, model: &RandomWaypoint, at: Instant) {
        let (slowest, fastest) = model.speed;
        self.from = self.to;
        self.to = RandomWaypoint::anywhere(model.area, &mut self.rng);
        let speed = slowest + (fastest - slowest) * self.rng.uniform();
        let seconds = self.from.distance(self.to) / speed;
        self.start = at;
        self.arrival = at + Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).max(SHORTEST);
    }

    /// Where it is; times go forward from call to call.
    pub fn position(&mut self, model: &RandomWaypoint, now: Instant) -> Position {
        while self.arrival + model.pause <= now {
            self.set_out(model, self.arrival + model.pause);
        }
        if now >= self.arrival {
            return self.to;
        }
        let part = now.since(self.start).as_secs_f64() / self.arrival.since(self.start).as_secs_f64();
        let between = |from: f64, to: f64| from + (to - from) * part;
        Position::new(between(self.from.x, self.to.x), between(self.from.y, self.to.y))
    }

    /// When it is somewhere else than now: an interval on, or on arrival, or an interval after the
    /// pause is over.
    pub fn next_step(&self, model: &RandomWaypoint, now: Instant) -> Instant {
        if now < self.arrival {
            (now + model.interval).min(self.arrival)
        } else {
            self.arrival + model.pause + model.interval
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(pause_ms: u64) -> RandomWaypoint {
        RandomWaypoint {
            area: Position::new(100.0, 50.0),
            speed: (1.0, 4.0),
            pause: Duration::from_millis(pause_ms),
            interval: Duration::from_millis(100),
        }
    }

    #[test]
    fn walkers_stay_in_the_area_between_the_speeds_and_rest_for_the_pause() {
        for (number, pause) in [(0, 0), (1, 700), (2, 30_000)] {
            let model = model(pause);
            let mut walker =
                Walker::new(&model, Position::new(3.0, 4.0), Instant::ZERO, Rng::named(number, "walk"));
            let (mut now, mut at) = (Instant::ZERO, Position::new(3.0, 4.0));
            let (mut walked, mut rests, mut turns) = (0.0, 0, 0);
            while now < Instant::from_secs(2_000) {
                let arrival = walker.arrival;
                let next = walker.next_step(&model, now);
                assert!(next > now);
                let there = walker.position(&model, next);
                assert!((0.0..=100.0).contains(&there.x) && (0.0..=50.0).contains(&there.y), "{there:?}");
                let speed = at.distance(there) / next.since(now).as_secs_f64();
                turns += u32::from(walker.arrival != arrival);
                if now < arrival {
                    assert!((0.999..=4.001).contains(&speed), "{speed}");
                } else {
                    rests += 1;
                    assert!(next.since(arrival) == model.pause + model.interval);
                }
                walked += at.distance(there);
                (now, at) = (next, there);
            }
            assert!(walked > 300.0 && turns > 20, "{walked} {turns}");
            assert!(if pause == 0 { rests == 0 } else { rests + 1 >= turns }, "{rests} {turns}");
        }
    }

    #[test]
    fn the_mean_speed_does_not_fall() {
        let model = model(0);
        let mut walkers: Vec<Walker> = (0..200)
            .map(|number| {
                let mut rng = Rng::named(number, "walk");
                let from = RandomWaypoint::anywhere(model.area, &mut rng);
                Walker::new(&model, from, Instant::ZERO, rng)
            })
            .collect();
        let mut mean = |from: u64| {
            let (from, to) = (Instant::from_secs(from), Instant::from_millis(from * 1_000 + 500));
            let walked: f64 = walkers
                .iter_mut()
                .map(|walker| walker.position(&model, from).distance(walker.position(&model, to)) * 2.0)
                .sum();
            walked / 200.0
        };
        // Speeds are drawn for walks, and slow ones last longer: (4 - 1) / ln 4 = 2.16 m/s over
        // time.
        for second in [200, 1_000, 5_000] {
            let mean = mean(second);
            assert!((1.9..2.4).contains(&mean), "{mean} m/s at {second} s");
        }
    }
}
