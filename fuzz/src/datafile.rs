//! Targets of `lasthop_thesis`, the thesis's own input format.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use lasthop_packet::Instant;
use lasthop_scenario::Link;

use lasthop_sim::wireless::{StateTrace, parse_state_trace, state_trace_line};
use lasthop_sim::{ChannelConfig, Interest, Observer, StateSource, TraceEvent};

/// A data file is refused with a short message about one of its lines, or can be built and run.
pub fn datafile(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let file = match lasthop_thesis::parse(text, "datafile.dat", Path::new("/nowhere")) {
        Ok(file) => file,
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error}");
            let message = error.to_string();
            assert!(message.len() < 2000 && !message.contains(char::is_control), "{message}");
            return;
        }
    };
    let scenario = &file.scenario;
    let mut built = scenario.build(&scenario.schemes[0], 1).expect("what was read can be built");
    for _ in 0..200 {
        match built.world.next_event_at() {
            Some(at) if at < Instant::from_secs(10) => built.world.advance_to(at),
            _ => break,
        }
    }
    assert!(built.world.accounts().balance());
}

/// A trace of link states is refused with its line, or can be followed; what a run under it records
/// makes the same run again.
pub fn state_trace(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let trace = match parse_state_trace(text) {
        Ok(trace) => trace,
        Err(error) => {
            assert!((1..=text.lines().count()).contains(&error.line), "{error}");
            return;
        }
    };
    let in_a_cell = format!("{NETWORK}shared_links {{\nlink_id = 102\n}}\n");
    for network in [NETWORK, &in_a_cell] {
        let (recorded, events) = follow(network, &trace);
        let again = parse_state_trace(&recorded).expect("our own format");
        assert_eq!(follow(network, &again), (recorded, events));
    }
}

const NETWORK: &str = include_str!("../corpus/datafile/manual");

/// Runs a network for a while under a trace: the states that were seen, and the number of events
/// that there were.
fn follow(network: &str, trace: &StateTrace) -> (String, u64) {
    let mut file =
        lasthop_thesis::parse(network, "datafile.dat", Path::new("/nowhere")).expect("a good file");
    for link in &mut file.scenario.links {
        let channel = match &mut link.link {
            Link::Wireless { config, .. } => &mut config.channel,
            Link::Radio { config, .. } => config.channel.get_or_insert(ChannelConfig::PERFECT),
            Link::Wired(_) => continue,
        };
        channel.source = StateSource::Trace(Arc::new(trace.clone()));
    }
    let mut built = file.scenario.build(&file.scenario.schemes[0], 1).expect("it can be built");
    let states = States::default();
    built.world.observe(Box::new(states.clone()));
    built.world.run(Instant::from_secs(10), false);
    assert!(built.world.accounts().balance());
    let recorded = states.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (recorded, built.world.counters().events)
}

/// Lines of the states seen.
#[derive(Clone, Default)]
struct States(Arc<Mutex<String>>);

impl Observer for States {
    fn interest(&self) -> Interest {
        Interest::CHANNEL
    }

    fn on_event(&mut self, _now: Instant, event: &TraceEvent<'_>) {
        if let TraceEvent::ChannelState { at, good, .. } = *event {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(&state_trace_line(at, good));
        }
    }
}
