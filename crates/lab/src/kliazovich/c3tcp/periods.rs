//! Runs divided into periods: in each, the throughput of flows, the queue of a station, and the
//! stations' measurements.

use std::sync::{Arc, Mutex};

use lasthop_packet::{Instant, Packet};
use lasthop_scenario::{Overrides, Scenario, SchemeChoice, SteppedRun, file};
use lasthop_schemes::c3tcp::options::{Backward, Carried, Forward};
use lasthop_sim::{DropCause, Interest, NodeId, Observer, TraceEvent};
use rayon::prelude::*;

use crate::progress::{Progress, watch};
use crate::run::RunError;

/// Datagram octets for each octet of payload: the text's throughput counts packets, as ns-2's sink
/// does.
const DATAGRAM: f64 = 1040.0 / 1000.0;

/// The results of a run in one period.
#[derive(Clone, Debug, Default)]
pub(super) struct Period {
    /// The throughput of each flow, in Mbit/s.
    pub(super) throughput: Vec<f64>,
    /// The maximum length of the watched station's queue, in packets.
    pub(super) longest_queue: usize,
    /// Packets dropped because this queue was full.
    pub(super) overflows: u64,
    /// The bandwidths in the options that the receiver got: their sum in octets per second, and
    /// their number.
    bandwidths: (f64, u64),
    /// The round-trip times in the options that the sender got: their sum in seconds, and their
    /// number.
    link_round_trips: (f64, u64),
    /// The round-trip times that the sender's TCP measured: their sum in seconds, and their number.
    round_trips: (f64, u64),
}

impl Period {
    /// The mean bandwidth of the path by the stations' measurements, in Mbit/s.
    pub(super) fn bandwidth(&self) -> f64 {
        self.bandwidths.0 / self.bandwidths.1 as f64 * 8.0 / 1e6
    }

    /// The mean round-trip time by the stations' measurements, in seconds.
    pub(super) fn link_round_trip(&self) -> f64 {
        self.link_round_trips.0 / self.link_round_trips.1 as f64
    }

    /// The mean round-trip time by TCP's measurements, in seconds.
    pub(super) fn round_trip(&self) -> f64 {
        self.round_trips.0 / self.round_trips.1 as f64
    }
}

/// The runs of a scenario, scheme by scheme.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    schemes: Vec<(String, Vec<Vec<Period>>)>,
}

impl Runs {
    /// Runs a scenario of this repository with these settings, divided at `cuts`, in seconds;
    /// `watched` is the station whose queue is recorded.
    pub(super) fn run(
        text: &str,
        settings: &[&str],
        cuts: &[u64],
        watched: &str,
        seeds: u64,
        progress: &dyn Progress,
    ) -> Result<Self, RunError> {
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let overrides = Overrides { settings, ..Overrides::default() };
        let scenario = file::parse(text, "scenario.toml", std::path::Path::new("."), &overrides);
        let scenario = scenario.expect("the file is ours, and a test reads it");
        scenario.check_all()?;
        progress.expect(scenario.schemes.len() as u64 * seeds);
        let of_scheme = |choice: &SchemeChoice| {
            let seeds = (1..=seeds).into_par_iter();
            let runs = seeds.map(|seed| {
                let periods = run(&scenario, choice, seed, (cuts, watched), progress);
                progress.advance();
                periods
            });
            Ok((choice.label.clone(), runs.collect::<Result<_, RunError>>()?))
        };
        Ok(Self { schemes: scenario.schemes.par_iter().map(of_scheme).collect::<Result<_, RunError>>()? })
    }

    /// A quantity of each run under a scheme.
    pub(super) fn samples(&self, label: &str, of: impl Fn(&[Period]) -> f64) -> Vec<f64> {
        let found = self.schemes.iter().find(|(known, _)| known == label);
        found.map_or(Vec::new(), |(_, runs)| runs.iter().map(|periods| of(periods)).collect())
    }
}

fn run(
    scenario: &Scenario,
    choice: &SchemeChoice,
    seed: u64,
    (cuts, watched): (&[u64], &str),
    progress: &dyn Progress,
) -> Result<Vec<Period>, RunError> {
    let mut built = scenario.build(choice, seed)?;
    let stop = watch(progress);
    let mut run = SteppedRun::begin(scenario, choice, seed, &mut built, &stop)?;
    let node = |name: &str| {
        let index = scenario.nodes.iter().position(|node| node.name == name);
        built.nodes[index.expect("a node of the file")]
    };
    let bulk = &scenario.flows[0];
    let seen = Arc::new(Mutex::new(Period::default()));
    let watch = Watch {
        seen: Arc::clone(&seen),
        queue: node(watched),
        ends: [built.nodes[bulk.from], built.nodes[bulk.to]],
        flow: built.flows[0],
    };
    built.world.observe(Box::new(watch));
    let (mut from, mut octets) = (0, vec![0; built.flows.len()]);
    let mut periods = Vec::new();
    for to in cuts {
        run.advance(&mut built, Instant::from_secs(*to), false)?;
        let now: Vec<u64> = built.flows.iter().map(|flow| built.world.outcome(*flow).octets).collect();
        let mbps =
            |(now, before): (&u64, &u64)| (now - before) as f64 * 8.0 * DATAGRAM / (to - from) as f64 / 1e6;
        let mut period = std::mem::take(&mut *seen.lock().expect("an observer does not panic"));
        period.throughput = now.iter().zip(&octets).map(mbps).collect();
        periods.push(period);
        (from, octets) = (*to, now);
    }
    Ok(periods)
}

/// Observes one station's queue, and both ends of the first flow.
struct Watch {
    seen: Arc<Mutex<Period>>,
    queue: NodeId,
    ends: [NodeId; 2],
    flow: lasthop_sim::FlowId,
}

impl Watch {
    fn record_options(seen: &mut Period, is_sender: bool, packet: &Packet) {
        let Some(options) = packet.link_options() else { return };
        if is_sender {
            if let Ok(Some(backward)) = Backward::from_options(options) {
                let micros = f64::from(backward.echo.delay) + f64::from(backward.delay);
                seen.link_round_trips.0 += micros / 1e6;
                seen.link_round_trips.1 += 1;
            }
        } else if let Ok(Some(forward)) = Forward::from_options(options) {
            seen.bandwidths.0 += f64::from(forward.bandwidth);
            seen.bandwidths.1 += 1;
        }
    }
}

impl Observer for Watch {
    fn interest(&self) -> Interest {
        Interest::QUEUES | Interest::DROPS | Interest::INTERFACES | Interest::WINDOW
    }

    fn on_event(&mut self, _now: Instant, event: &TraceEvent<'_>) {
        let mut seen = self.seen.lock().expect("nothing panics with it");
        match event {
            TraceEvent::Queue { node, packets, .. } if *node == self.queue => {
                seen.longest_queue = seen.longest_queue.max(*packets);
            }
            TraceEvent::Dropped { node, cause: DropCause::QueueFull, .. } if *node == self.queue => {
                seen.overflows += 1;
            }
            TraceEvent::InterfaceIn { node, packet, .. } if self.ends.contains(node) => {
                Self::record_options(&mut seen, *node == self.ends[0], packet);
            }
            TraceEvent::Window { flow, sender } if *flow == self.flow => {
                if let Some(latest) = sender.rtt().latest() {
                    seen.round_trips.0 += latest.as_secs_f64();
                    seen.round_trips.1 += 1;
                }
            }
            _ => {}
        }
    }
}
