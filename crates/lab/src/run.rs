//! One run and its summary.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_agent::Counter;
use lasthop_packet::Instant;
use lasthop_scenario::memory::MemoryExceeded;
use lasthop_scenario::{BuildError, Built, Pieces, Scenario, SchemeChoice};
use lasthop_sim::aodv::AodvCounters;
use lasthop_sim::{DropCause, Observer, UdpOutcome};
use serde::Serialize;
use thiserror::Error;

use crate::agents::AgentLoad;
use crate::sessions::{self, SessionSummary, SessionTotals};
use crate::stats::jain_fairness;

/// What came of one run; `lasthop run --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// The scenario's name.
    pub scenario: String,
    /// The scheme's label.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Simulated time, in seconds.
    pub duration_s: f64,
    /// Warm-up at the start of the run, in seconds. All figures except `duration_s` and completion
    /// times are of the rest, the measured time.
    pub warm_up_s: f64,
    /// Each flow.
    pub flows: Vec<FlowSummary>,
    /// Each session.
    pub sessions: Vec<SessionSummary>,
    /// Each station of each 802.11 cell; empty without a cell.
    pub stations: Vec<StationSummary>,
    /// All flows together.
    pub aggregate: Aggregate,
    /// Data at risk in agents, and their memory.
    pub agents: AgentLoad,
    /// Counts by name; the reference explains the names.
    pub counters: BTreeMap<String, u64>,
}

/// What came of one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// The flow's name.
    pub name: String,
    /// The scheme's label.
    pub scheme: String,
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// Goodput in bits per second, measured until the flow completes or the run ends. Measurement
    /// begins with the flow, or with the end of the warm-up if that is later.
    pub goodput_bps: f64,
    /// Octets delivered to the application.
    pub bytes: u64,
    /// "tcp" or "udp".
    pub transport: &'static str,
    /// Seconds from the flow's start to its last octet; null over UDP, and for a flow that has no
    /// size or did not complete.
    pub completion_s: Option<f64>,
    /// Retransmitted segments; null over UDP.
    pub retransmits: Option<u64>,
    /// Expiries of the retransmission timer; null over UDP.
    pub timeouts: Option<u64>,
    /// Fast retransmits; null over UDP.
    pub fast_retransmits: Option<u64>,
    /// Duplicate ACKs that the sender received; null over UDP.
    pub duplicate_acks: Option<u64>,
    /// Mean of the round-trip times that the sender measured, in seconds; null over UDP.
    pub rtt_mean_s: Option<f64>,
    /// The fate of its datagrams; null over TCP.
    pub datagrams: Option<Datagrams>,
}

/// What became of datagrams: of one flow, or of all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Datagrams {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived, each counted once.
    pub received: u64,
    /// Datagrams that were lost.
    pub lost: u64,
    /// Datagrams in transit at the end of the run.
    pub in_transit: u64,
    /// Duplicates that arrived.
    pub duplicated: u64,
    /// Datagrams that arrived after one sent later.
    pub out_of_order: u64,
    /// Mean one-way delay, in seconds; null if nothing arrived.
    pub delay_mean_s: Option<f64>,
    /// 95th percentile of the one-way delay, in seconds; for several flows, that of the worst.
    pub delay_p95_s: Option<f64>,
    /// Interarrival jitter at the end of the run, in seconds (RFC 3550, section 6.4.1); for several
    /// flows, that of the worst.
    pub jitter_s: Option<f64>,
}

impl Datagrams {
    /// Those of one flow.
    fn of(outcome: &UdpOutcome) -> Self {
        let UdpOutcome { sent, received, lost, in_transit, duplicated, out_of_order, delay } = *outcome;
        Self {
            sent,
            received,
            lost,
            in_transit,
            duplicated,
            out_of_order,
            delay_mean_s: delay.map(|delay| delay.mean_s),
            delay_p95_s: delay.map(|delay| delay.p95_s),
            jitter_s: delay.map(|delay| delay.jitter_s),
        }
    }

    /// Those of two flows or more.
    fn with(self, other: Self) -> Self {
        let received = self.received + other.received;
        let total = |of: Self| of.delay_mean_s.map_or(0.0, |mean| mean * of.received as f64);
        let worst = |ours: Option<f64>, theirs: Option<f64>| match (ours, theirs) {
            (Some(ours), Some(theirs)) => Some(ours.max(theirs)),
            _ => ours.or(theirs),
        };
        Self {
            sent: self.sent + other.sent,
            received,
            lost: self.lost + other.lost,
            in_transit: self.in_transit + other.in_transit,
            duplicated: self.duplicated + other.duplicated,
            out_of_order: self.out_of_order + other.out_of_order,
            delay_mean_s: (received > 0).then(|| (total(self) + total(other)) / received as f64),
            delay_p95_s: worst(self.delay_p95_s, other.delay_p95_s),
            jitter_s: worst(self.jitter_s, other.jitter_s),
        }
    }

    /// The share of those sent and no longer on their way that were lost, in percent; `None` if
    /// there are none.
    pub fn lost_percent(&self) -> Option<f64> {
        let decided = self.received + self.lost;
        (decided > 0).then(|| self.lost as f64 / decided as f64 * 100.0)
    }
}

/// What a station of an IEEE 802.11 cell had of the air.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StationSummary {
    /// The cell's name.
    pub wlan: String,
    /// The node's name.
    pub name: String,
    /// Frames that it delivered or gave up.
    pub frames: u64,
    /// Transmissions of these frames.
    pub transmissions: u64,
    /// Frames that it gave up.
    pub frames_given_up: u64,
    /// Seconds that it spent transmitting data frames, RTS and CTS-to-self, including failed
    /// transmissions. Acknowledgments and interframe spaces do not count.
    pub air_time_s: f64,
    /// `air_time_s` as a share of the measured time.
    pub air_time_share: f64,
    /// Seconds for which it was awake; null for a station that is not in power-save mode.
    pub awake_s: Option<f64>,
    /// `awake_s` as a share of the measured time; null likewise.
    pub awake_share: Option<f64>,
    /// Mean time that a frame waited at the head of the queue for its first transmission, in
    /// seconds; null without frames.
    pub access_mean_s: Option<f64>,
}

/// All flows together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Aggregate {
    /// Sum of the goodputs of all flows and sessions over TCP, in bits per second. If there are
    /// none, the sum over UDP.
    pub goodput_bps: f64,
    /// Jain's fairness index of these goodputs.
    pub jain_fairness: f64,
    /// Seconds until the last flow with a size completed, from the start of the first such flow;
    /// null if one did not complete, or if there is none.
    pub completion_s: Option<f64>,
    /// Retransmitted segments of all flows and sessions.
    pub retransmits: u64,
    /// Expiries of the retransmission timer in all flows and sessions.
    pub timeouts: u64,
    /// Fast retransmits of all flows and sessions.
    pub fast_retransmits: u64,
    /// Sum of the goodputs of all flows over UDP, in bits per second; null without such flows.
    pub udp_goodput_bps: Option<f64>,
    /// The fate of their datagrams; null without such flows.
    pub datagrams: Option<Datagrams>,
    /// All sessions, by kind; null without sessions.
    pub sessions: Option<SessionTotals>,
    /// Sum of the stations' `air_time_share`, divided by the number of cells; each of the frames
    /// that collide counts. Null without an 802.11 cell.
    pub air_time_share: Option<f64>,
}

/// Why there is no result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// The scenario cannot run under the scheme.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// It took too much memory.
    #[error(transparent)]
    Memory(#[from] MemoryExceeded),
    /// A flow, or all traffic, was done before the warm-up was.
    #[error("{what} was done before `warm-up` was over; expected a shorter one, or flows that last longer")]
    NothingMeasured {
        /// What was done.
        what: String,
    },
    /// A run of a sweep failed.
    #[error("at {point}: {error}")]
    AtPoint {
        /// What the sweep varies, as it is at this point.
        point: String,
        /// Why.
        error: Box<RunError>,
    },
}

/// Runs a scenario under a scheme.
pub fn run(scenario: &Scenario, scheme: &SchemeChoice, seed: u64) -> Result<RunSummary, RunError> {
    let (summary, _) = run_observed(scenario, scheme, seed, |_| Vec::new(), &|_| ())?;
    Ok(summary)
}

/// Runs a scenario under a scheme with observers, and gives them back. `progress` is called again and
/// again with the simulated time.
pub fn run_observed(
    scenario: &Scenario,
    scheme: &SchemeChoice,
    seed: u64,
    observers: impl FnOnce(&Built) -> Vec<Box<dyn Observer>>,
    progress: &dyn Fn(Duration),
) -> Result<(RunSummary, Vec<Box<dyn Observer>>), RunError> {
    let mut built = scenario.build(scheme, seed)?;
    let mut run = Pieces::begin(scenario, scheme, seed, &mut built, progress)?;
    for observer in observers(&built) {
        built.world.observe(observer);
    }
    let uncounted = warm_up(&mut run, &mut built)?;
    let agents = AgentLoad::of_run(&mut run, &mut built)?;
    let observers = built.world.take_observers();
    debug_assert!(built.world.accounts().balance(), "every packet is accounted for");
    let mut summary = summarize(scenario, scheme, seed, &built, agents);
    for (name, count) in uncounted {
        if let Some(counted) = summary.counters.get_mut(&name) {
            *counted -= count;
        }
    }
    Ok((summary, observers))
}

/// Runs a world for the scenario's warm-up, after which it starts to measure. Returns what counters
/// that only rise counted meanwhile.
fn warm_up(run: &mut Pieces<'_>, built: &mut Built) -> Result<BTreeMap<String, u64>, RunError> {
    if run.scenario.warm_up.is_zero() {
        return Ok(BTreeMap::new());
    }
    let end = Instant::ZERO + run.scenario.warm_up;
    run.advance(built, end, run.scenario.stop_when_done)?;
    if built.world.now() < end {
        return Err(RunError::NothingMeasured { what: "all traffic".to_owned() });
    }
    if let Some(flow) = built.flows.iter().find(|flow| built.world.flow(**flow).is_done()) {
        let name = &built.world.flow(*flow).name;
        return Err(RunError::NothingMeasured { what: format!("flow {name:?}") });
    }
    built.world.start_measuring();
    let mut counted = counters(built);
    counted.retain(|name, _| !LEVELS.contains(&name.as_str()));
    Ok(counted)
}

fn summarize(
    scenario: &Scenario,
    scheme: &SchemeChoice,
    seed: u64,
    built: &Built,
    agents: AgentLoad,
) -> RunSummary {
    let world = &built.world;
    let flows: Vec<FlowSummary> = built
        .flows
        .iter()
        .zip(&scenario.flows)
        .map(|(id, model)| {
            let outcome = world.outcome(*id);
            // A wrong octet would be a broken simulator, and every number with it.
            assert!(
                outcome.intact,
                "flow {:?}: the stream that arrived is not the stream that was sent",
                outcome.name
            );
            let tcp = outcome.tcp();
            FlowSummary {
                name: outcome.name.clone(),
                scheme: scheme.label.clone(),
                from: scenario.nodes[model.from].name.clone(),
                to: scenario.nodes[model.to].name.clone(),
                goodput_bps: outcome.goodput_bps,
                bytes: outcome.octets,
                transport: if outcome.udp().is_some() { "udp" } else { "tcp" },
                completion_s: outcome.completion.map(|completion| completion.as_secs_f64()),
                retransmits: tcp.map(|tcp| tcp.sender.retransmits),
                timeouts: tcp.map(|tcp| tcp.sender.timeouts),
                fast_retransmits: tcp.map(|tcp| tcp.sender.fast_retransmits),
                duplicate_acks: tcp.map(|tcp| tcp.sender.duplicate_acks),
                rtt_mean_s: tcp.and_then(|tcp| tcp.rtt_mean_s),
                datagrams: outcome.udp().map(Datagrams::of),
            }
        })
        .collect();
    let (sessions, of_sessions) = sessions::summarize(scenario, &scheme.label, built);
    let stations = stations(scenario, built);
    let aggregate = aggregate(scenario, &flows, (&sessions, of_sessions), &stations);
    RunSummary {
        scenario: scenario.name.clone(),
        scheme: scheme.label.clone(),
        seed,
        duration_s: world.now().as_secs_f64(),
        warm_up_s: scenario.warm_up.as_secs_f64(),
        flows,
        sessions,
        stations,
        aggregate,
        agents,
        counters: counters(built),
    }
}

fn stations(scenario: &Scenario, built: &Built) -> Vec<StationSummary> {
    let world = &built.world;
    let seconds = world.now().as_secs_f64() - scenario.warm_up.as_secs_f64();
    let cells = scenario.wlans.iter().zip(&built.wlans);
    let stations = cells.flat_map(|(model, cell)| {
        let stations = model.stations.iter().zip(&cell.stations);
        stations.map(|(station, id)| (model.name.clone(), station.node, world.radio_use(cell.wlan, *id)))
    });
    stations
        .map(|(wlan, node, used)| {
            let share = |spent: f64| if seconds > 0.0 { spent / seconds } else { 0.0 };
            let air_time_s = used.air_time.as_secs_f64();
            let awake_s = used.awake.map(|awake| awake.as_secs_f64());
            StationSummary {
                wlan,
                name: scenario.nodes[node].name.clone(),
                frames: used.frames,
                transmissions: used.transmissions,
                frames_given_up: used.given_up,
                air_time_s,
                air_time_share: share(air_time_s),
                awake_s,
                awake_share: awake_s.map(share),
                access_mean_s: (used.frames > 0).then(|| used.access.as_secs_f64() / used.frames as f64),
            }
        })
        .collect()
}

fn aggregate(
    scenario: &Scenario,
    flows: &[FlowSummary],
    (sessions, of_sessions): (&[SessionSummary], Option<SessionTotals>),
    stations: &[StationSummary],
) -> Aggregate {
    let goodputs = |over_udp: bool| -> Vec<f64> {
        let chosen = flows.iter().filter(|flow| flow.datagrams.is_some() == over_udp);
        chosen.map(|flow| flow.goodput_bps).collect()
    };
    let of_sessions_over = |over_udp: bool| {
        let chosen = sessions.iter().filter(move |session| session.transactions.is_none() == over_udp);
        chosen.map(|session| session.goodput_bps)
    };
    let over_udp = goodputs(true);
    let [over_tcp, all_over_udp] = [false, true].map(|over_udp| -> Vec<f64> {
        goodputs(over_udp).into_iter().chain(of_sessions_over(over_udp)).collect()
    });
    // Datagrams beside TCP are what it has to live with, and no part of what it achieves.
    let headline = if over_tcp.is_empty() { &all_over_udp } else { &over_tcp };
    let dialogues = || sessions.iter().filter_map(|session| session.transactions.as_ref());
    let with_end = || {
        let flows = scenario.flows.iter().zip(flows);
        flows.filter(|(model, _)| model.tcp().is_some() && model.size().is_some())
    };
    let ends: Option<Vec<f64>> = with_end()
        .map(|(model, flow)| flow.completion_s.map(|completion| model.start.as_secs_f64() + completion))
        .collect();
    let first_start = with_end().map(|(model, _)| model.start.as_secs_f64()).fold(f64::INFINITY, f64::min);
    let completion_s =
        ends.filter(|ends| !ends.is_empty()).map(|ends| ends.into_iter().fold(0.0, f64::max) - first_start);
    Aggregate {
        goodput_bps: headline.iter().sum(),
        jain_fairness: jain_fairness(headline),
        completion_s,
        retransmits: flows.iter().filter_map(|flow| flow.retransmits).sum::<u64>()
            + dialogues().map(|of| of.transactions.retransmits).sum::<u64>(),
        timeouts: flows.iter().filter_map(|flow| flow.timeouts).sum::<u64>()
            + dialogues().map(|of| of.timeouts).sum::<u64>(),
        fast_retransmits: flows.iter().filter_map(|flow| flow.fast_retransmits).sum::<u64>()
            + dialogues().map(|of| of.fast_retransmits).sum::<u64>(),
        udp_goodput_bps: (!over_udp.is_empty()).then(|| over_udp.iter().sum()),
        datagrams: flows.iter().filter_map(|flow| flow.datagrams).reduce(Datagrams::with),
        sessions: of_sessions,
        air_time_share: (!scenario.wlans.is_empty()).then(|| {
            stations.iter().map(|station| station.air_time_share).sum::<f64>() / scenario.wlans.len() as f64
        }),
    }
}

const IN_TRANSIT: &str = "packets_in_transit";
const HELD_BY_AGENTS: &str = "packets_held_by_agents";
/// What is not counted from the start, but is so at the moment.
const LEVELS: [&str; 2] = [IN_TRANSIT, HELD_BY_AGENTS];

fn counters(built: &Built) -> BTreeMap<String, u64> {
    let world = &built.world;
    let accounts = world.accounts();
    let packets = [
        ("packets_originated", accounts.originated),
        ("packets_consumed", accounts.consumed),
        ("packets_absorbed", accounts.absorbed),
        (IN_TRANSIT, accounts.in_transit),
        (HELD_BY_AGENTS, world.held_by_agents()),
    ];
    let aodv = world.aodv_counters();
    let marked = world.packets_marked().map(|marked| ("packets_marked_ce", marked));
    let duplicated = Some(("packets_duplicated", accounts.duplicated)).filter(|(_, count)| *count > 0);
    let broadcasts = [("packets_broadcast", accounts.broadcast), ("broadcasts_heard", accounts.heard)];
    let counters = world.counters();
    let counted = counters.iter().chain(world.reported().iter());
    let counted = counted.chain(aodv.iter().flat_map(AodvCounters::iter));
    let counted =
        counted.map(|(counter, count)| (counter.name, count)).chain(packets).chain(marked).chain(duplicated);
    let counted = counted.chain(aodv.iter().flat_map(|_| broadcasts));
    let name = |cause: DropCause| match cause {
        DropCause::Agent(reason) => reason.name.to_owned(),
        _ => format!("dropped_{}", cause.name().replace(' ', "_")),
    };
    let dropped = accounts.dropped.iter().map(|(cause, count)| (name(*cause), *count));
    counted.map(|(name, count)| (name.to_owned(), count)).chain(dropped).collect()
}

impl RunSummary {
    /// How much was counted; 0 if this run has no such counter.
    pub fn count(&self, counter: &Counter) -> u64 {
        self.counters.get(counter.name).copied().unwrap_or(0)
    }

    /// The part of the measured time in which a station in power-save mode was awake, mean over these
    /// stations, from 0 to 1; `None` without any.
    pub fn awake_share(&self) -> Option<f64> {
        let shares: Vec<f64> = self.stations.iter().filter_map(|station| station.awake_share).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}
