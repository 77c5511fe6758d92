//! Where people are during an event: the paths that its program and a seed give to the stations of a cell.

use std::time::Duration;

use lasthop_packet::{Instant, Rng};
use lasthop_sim::mobility::Path;
use lasthop_wifi::Position;

use crate::model::{Program, ProgramSession, Room, WlanModel};

/// The shortest walk, because the times of a path rise.
const SHORTEST: Duration = Duration::from_millis(1);

/// The paths of the stations of a cell that has a program: indices of stations, without its access points.
pub(super) fn paths(model: &WlanModel, program: &Program, seed: u64) -> Vec<(usize, Path)> {
    let mut rng = Rng::named(seed, &format!("wlan {} program", model.name));
    let first = model.access_points().count();
    (first..model.stations.len()).map(|station| (station, path(program, &mut rng))).collect()
}

/// The path of one person.
fn path(program: &Program, rng: &mut Rng) -> Path {
    let (slowest, fastest) = program.speed;
    let speed = slowest + (fastest - slowest) * rng.uniform();
    let (first, others) = program.sessions.split_first().expect("a program has sessions");
    let mut room = draw_room(first, rng);
    let mut points = vec![(Instant::ZERO, place(&program.rooms[room], rng))];
    for session in others {
        let next = draw_room(session, rng);
        // Drawn in any case, so that a change of weights does not change the draws of all who come later.
        let (to, wait) = (place(&program.rooms[next], rng), program.spread.mul_f64(rng.uniform()));
        if std::mem::replace(&mut room, next) == next {
            continue;
        }
        let (arrived, from) = points[points.len() - 1];
        let sets_out = (Instant::ZERO + session.start + wait).max(arrived + SHORTEST);
        let walk = Duration::try_from_secs_f64(from.distance(to) / speed).unwrap_or(Duration::MAX);
        let arrives = sets_out + walk.max(SHORTEST);
        if arrives == Instant::MAX {
            // Nobody sees it arrive.
            break;
        }
        points.push((sets_out, from));
        points.push((arrives, to));
    }
    Path::new(points).expect("its times rise")
}

fn draw_room(session: &ProgramSession, rng: &mut Rng) -> usize {
    let total: u64 = session.weights.iter().copied().map(u64::from).sum();
    let mut drawn = rng.below(total);
    let is_drawn = |weight: &u32| match drawn.checked_sub(u64::from(*weight)) {
        Some(rest) => {
            drawn = rest;
            false
        }
        None => true,
    };
    session.weights.iter().position(is_drawn).expect("the weights add up to the total")
}

fn place(room: &Room, rng: &mut Rng) -> Position {
    let between = |from: f64, to: f64, part: f64| from + (to - from) * part;
    let (east, north) = (rng.uniform(), rng.uniform());
    Position::new(between(room.from.x, room.to.x, east), between(room.from.y, room.to.y, north))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(x: f64) -> Room {
        Room { from: Position::new(x, 0.0), to: Position::new(x + 10.0, 5.0) }
    }

    fn session(minute: u64, weights: [u32; 3]) -> ProgramSession {
        ProgramSession { start: Duration::from_secs(60 * minute), weights: weights.to_vec() }
    }

    fn program() -> Program {
        Program {
            rooms: vec![room(0.0), room(100.0), room(200.0)],
            sessions: vec![session(0, [1, 0, 0]), session(10, [0, 3, 1]), session(20, [0, 1, 0])],
            speed: (1.0, 2.0),
            spread: Duration::from_secs(60),
            interval: Duration::from_secs(1),
        }
    }

    /// The room that somebody is in.
    fn whereabouts(path: &Path, second: u64) -> Option<usize> {
        let Position { x, y } = path.position(Instant::from_secs(second));
        let is_in = |x0: f64| (x0..x0 + 10.0).contains(&x) && (0.0..5.0).contains(&y);
        [0.0, 100.0, 200.0].into_iter().position(is_in)
    }

    #[test]
    fn people_are_in_the_rooms_of_the_program_by_their_weights_and_walk_between() {
        let mut rng = Rng::named(1, "people");
        let people: Vec<Path> = (0..2_000).map(|_| path(&program(), &mut rng)).collect();
        let count =
            |second, room| people.iter().filter(|path| whereabouts(path, second) == Some(room)).count();
        assert_eq!(count(0, 0), 2_000);
        assert_eq!(count(600, 0), 2_000, "no one leaves before the session is over");
        // A minute until the last sets out, and at most 210 m at 1 m/s.
        let (near, far) = (count(870, 1), count(870, 2));
        assert_eq!(near + far, 2_000);
        assert!((1_420..1_580).contains(&near), "{near}");
        // At 10 min 30 s some are on their way and some have not left.
        let still_there = count(630, 0);
        assert!((800..1_400).contains(&still_there), "{still_there}");
        assert_eq!(count(1_500, 1), 2_000);
    }

    #[test]
    fn those_who_draw_their_own_room_keep_their_place() {
        let mut rng = Rng::named(2, "people");
        for _ in 0..200 {
            let path = path(&program(), &mut rng);
            let places = [900, 1_500].map(|second| path.position(Instant::from_secs(second)));
            let stayed = whereabouts(&path, 900) == Some(1);
            assert_eq!(places[0] == places[1], stayed);
        }
    }

    #[test]
    fn those_who_are_still_on_their_way_go_on_from_where_they_arrive() {
        let program = Program { speed: (0.1, 0.1), ..program() };
        let mut rng = Rng::named(3, "people");
        for _ in 0..100 {
            // 200 m take 2,000 s: the third session has begun long ago.
            assert_eq!(whereabouts(&path(&program, &mut rng), 6_000), Some(1));
        }
    }
}
