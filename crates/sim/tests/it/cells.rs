//! What a cell does alike whoever looks on, and however it is driven.

use std::sync::{Arc, Mutex};

use lasthop_packet::Instant;
use lasthop_sim::observe::TraceHash;
use lasthop_sim::{FlowId, Interest, NodeKind, Observer, TraceEvent, World};
use lasthop_wifi::{ErrorConfig, Standard, StationConfig, WlanConfig};

use crate::support::{direction, flow, node, percent, wired};

const END: Instant = Instant::from_millis(400);

/// Three stations that send through an access point to a server, and frames of which many are lost.
fn lossy_cell() -> (World, Vec<FlowId>) {
    let mut world = World::new(3);
    let server = node(&mut world, "server", NodeKind::Host);
    let ap = node(&mut world, "ap", NodeKind::Router);
    world.add_wired_link(server, ap, &wired("wire", &direction(100_000), 1));
    let mut config = WlanConfig::new(Standard::HrDsss);
    config.errors = ErrorConfig::packets(percent(25.0), true);
    config.mac.short_retry_limit = 3;
    let wlan = world.add_wlan("cell", config);
    let center = world.add_station(wlan, ap, &StationConfig::default());
    let flows = (0..3).map(|number| {
        let name = format!("station {number}");
        let host = node(&mut world, &name, NodeKind::Host);
        let station = world.add_station(wlan, host, &StationConfig::default());
        world.add_radio_link(&name, wlan, center, station);
        let config = flow(&world, (host, server), None);
        world.add_flow(config)
    });
    let flows = flows.collect();
    (world, flows)
}

/// Hashes what happens from a moment on.
struct From(Instant, Arc<Mutex<TraceHash>>);

impl Observer for From {
    fn interest(&self) -> Interest {
        Interest::all()
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        if now >= self.0 {
            self.1.lock().expect("no panic while it was locked").on_event(now, event);
        }
    }
}

#[test]
fn an_observer_who_comes_late_sees_what_one_from_the_start_sees() {
    for step in 0..60 {
        let comes = Instant::from_nanos(100_000_000 + step * 137_001);
        // What was in the air when it came is over.
        let compared = comes.after_nanos(60_000_000);
        let seen = [Instant::ZERO, comes].map(|at| {
            let (mut world, _) = lossy_cell();
            world.advance_to(at);
            let hash = Arc::new(Mutex::new(TraceHash::new()));
            world.observe(Box::new(From(compared, Arc::clone(&hash))));
            world.advance_to(END);
            assert!(world.accounts().balance() && world.counters().frames_given_up > 5);
            let value = hash.lock().expect("no panic while it was locked").value();
            (value, world.counters(), world.accounts())
        });
        assert_ne!(seen[0].0, TraceHash::new().value());
        assert_eq!(seen[0], seen[1], "{step}");
    }
}

#[test]
fn small_steps_of_a_cell_give_the_results_of_one_long_run() {
    let results = |step: u64| {
        let (mut world, flows) = lossy_cell();
        while world.now() < END {
            world.advance_to(world.now().after_nanos(step).min(END));
        }
        let octets: Vec<_> = flows.iter().map(|flow| world.outcome(*flow).octets).collect();
        assert!(octets.iter().all(|octets| *octets > 10_000), "{octets:?}");
        (octets, world.counters(), world.accounts())
    };
    assert_eq!(results(30_001), results(400_000_000));
}
