//! A run of a scenario under a scheme, with the number of packets that each node put on the air.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use lasthop_agent::Tally;
use lasthop_packet::Instant;
use lasthop_scenario::{Overrides, Scenario, SchemeChoice, file};
use lasthop_sim::observe::{Interest, Observer, TraceEvent};
use lasthop_sim::{Accounts, Counters, FlowOutcome, NodeId};

/// Counts the packets that each node puts on the air, without retransmissions of frames.
#[derive(Clone, Default)]
struct Air(Arc<Mutex<BTreeMap<NodeId, u64>>>);

impl Observer for Air {
    fn interest(&self) -> Interest {
        Interest::FRAMES
    }

    fn on_event(&mut self, _now: Instant, event: &TraceEvent<'_>) {
        if let TraceEvent::Frame { from, transmission: 1, .. } = event {
            *self.0.lock().expect("no panic while it was locked").entry(*from).or_default() += 1;
        }
    }
}

/// The results of a run.
pub struct Run {
    pub flows: Vec<FlowOutcome>,
    /// Packets on the air, by node in the scenario's order.
    pub air: Vec<u64>,
    pub counters: Counters,
    pub reported: Tally,
    pub accounts: Accounts,
}

impl Run {
    pub fn new(scenario: &Scenario, name: &str, settings: &str) -> Self {
        let settings = toml::from_str(settings).expect("a table");
        let scheme = SchemeChoice::new(name, settings).expect("a scheme of the catalog");
        let mut built = scenario.build(&scheme, 1).expect("what was read can be built");
        let air = Air::default();
        built.world.observe(Box::new(air.clone()));
        built.world.run(Instant::ZERO + scenario.duration, true);
        assert!(built.world.accounts().balance());
        let counts = air.0.lock().expect("no panic while it was locked");
        Self {
            flows: built.flows.iter().map(|flow| built.world.outcome(*flow)).collect(),
            air: built.nodes.iter().map(|node| counts.get(node).copied().unwrap_or(0)).collect(),
            counters: built.world.counters(),
            reported: built.world.reported().clone(),
            accounts: built.world.accounts(),
        }
    }

    pub fn assert_everything_arrived(&self) -> &Self {
        for flow in &self.flows {
            assert!(flow.intact && flow.completion.is_some(), "{flow:?} {:?}", self.counters);
        }
        self
    }

    pub fn seconds(&self) -> f64 {
        self.flows[0].completion.expect("it arrived").as_secs_f64()
    }
}

/// A file of the folder `scenarios`, with settings in the form of `--set`.
pub fn scenario(name: &str, settings: &[&str]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
    file::read(&path, &Overrides { settings, ..Overrides::default() })
        .unwrap_or_else(|error| panic!("{error}"))
}
