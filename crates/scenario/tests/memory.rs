//! Memory does not grow with simulated time: the peak in a second hour is at most that in the
//! first. A global allocator of this binary counts it, so that it is the same in every run and on
//! every machine.

use std::path::Path;

use allocation_counter::measure;
use lasthop_packet::Instant;
use lasthop_scenario::{Built, Overrides, Scenario, file};
use lasthop_wifi::Position;

/// Simulated seconds in an hour.
const HOUR: u64 = 3_600;

/// The peaks of allocated octets in the first and in the second hour of a scenario's row. `second`
/// advances the world to the end of a simulated second.
fn peaks(scenario: &Scenario, row: &str, mut second: impl FnMut(&mut Built, u64)) -> (i64, i64) {
    let scheme = scenario.schemes.iter().find(|scheme| scheme.label == row).expect("a row of the scenario");
    let mut built = None;
    let first = measure(|| {
        let mut fresh = scenario.build(scheme, 1).expect("it can be built");
        (1..=HOUR).for_each(|at| second(&mut fresh, at));
        built = Some(fresh);
    });
    let mut built = built.expect("it has run");
    let packets = |built: &Built| built.world.counters().frames_sent;
    let before = packets(&built);
    let then = measure(|| (HOUR + 1..=2 * HOUR).for_each(|at| second(&mut built, at)));
    assert!(packets(&built) - before > 100_000, "{} frames in an hour", packets(&built) - before);
    (first.bytes_max.cast_signed(), first.bytes_current + then.bytes_max.cast_signed())
}

fn check((first, second): (i64, i64)) {
    assert!(first > 10_000, "{first}");
    assert!(second <= first, "{first} octets in the first hour, {second} in the second");
}

#[test]
fn two_hours_in_a_cafe() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/cafe.toml");
    let scenario = file::read(&path, &Overrides::default()).expect("a right scenario");
    check(peaks(&scenario, "cubic + lle-tcp", |built, at| {
        built.world.run(Instant::from_secs(at), false);
    }));
}

/// Datagrams of all kinds in a cell with errors, whose stations move in circles, into and out of
/// each other's range.
const STROLL: &str = r#"
schemes = ["none"]
[nodes.ap]
kind = "router"
[nodes.server]
kind = "host"
[nodes.walker]
kind = "host"
count = 6
position = ["0 m", "60 m"]
[links.wire]
between = ["server", "ap"]
rate = "100 Mbit/s"
delay = "5 ms"
[wlans.park]
standard = "802.11g"
access-point = "ap"
stations = ["walker"]
propagation = { kind = "ranges", reception = "100 m", carrier-sense = "110 m" }
errors = { packet-error-rate = "5%", control-frames = true }
[flows.voice]
from = "walker"
to = "server"
transport = "udp"
application = { kind = "cbr", interval = "40 ms", message = "160 B", jitter = "5 ms" }
[flows.film]
from = "server"
to = "walker"
transport = "udp"
application = { kind = "on-off", interval = "20 ms", message = "1200 B", on = { mean = "1 s" }, off = { mean = "2 s", distribution = "pareto" } }
"#;

#[test]
fn two_hours_of_datagrams_in_a_cell_whose_stations_move() {
    let scenario = file::parse(STROLL, "stroll.toml", Path::new("."), &Overrides::default());
    let scenario = scenario.expect("a right scenario");
    check(peaks(&scenario, "none", |built, at| {
        built.world.run(Instant::from_secs(at), false);
        let cell = &built.wlans[0];
        // Each station moves around the access point at 90 m, with its own period of 20 to 45 s.
        for (number, station) in cell.stations.iter().enumerate().skip(1) {
            let angle = at as f64 / (3.0 + number as f64 * 0.7);
            let place = Position::new(90.0 * libm::cos(angle), 90.0 * libm::sin(angle));
            built.world.move_stations(cell.wlan, &[(*station, place)]);
        }
    }));
}
