//! A scenario tried between real hosts on this machine alone: server, gateway, client, the kernel's
//! own TCP, emulated links.
//!
//! | module | what is in it |
//! |---|---|
//! | [`site`] | hosts: namespaces with addresses and routes |
//! | [`transfer`] | a TCP transfer, checked octet by octet |
//! | [`latency`] | what a small packet feels beside it |
//! | [`plan`] | which runs there are |
//! | [`stations`] | what the stations of 802.11 cells had of the air |
//! | [`prediction`] | what the simulator has for the same run, with its own TCP |
//! | [`verdict`] | whether a run can be believed |
//!
//! Start with [`run`]. Every host, device and filter belongs to the process: whatever ends it, they
//! vanish.

mod error;
mod gateway;
pub mod latency;
pub mod plan;
pub mod prediction;
pub mod site;
pub mod stations;
pub mod transfer;
pub mod verdict;

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_agent::counter::{ACKS_GENERATED, ACKS_SUPPRESSED};
use lasthop_scenario::{BuildError, FlowModel, RealHosts, Scenario};
use lasthop_schemes::Role;
use lasthop_sim::NodeId;
use rustix::thread::nanosleep;
use rustix::time::Timespec;
use serde::Serialize;

use crate::clock;
use crate::emulator::{self, Device, Emulator};
use crate::gateway::Gateway;
use crate::gateway::packet_loop::LoopReport;
use crate::gateway::plan::AgentMaker;
use plan::Case;
use site::{Site, device_name, edge, ends};
use stations::StationUse;
use transfer::Transfer;

pub use error::TrialError;

/// Where the host that does not open the connection listens.
const PORT: u16 = 5001;
/// Between two looks at what the user wants.
const LOOK: Duration = Duration::from_millis(50);

/// What one run brought.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// What was run.
    #[serde(flatten)]
    pub case: Case,
    /// Octets a second times eight that the receiver got, without what was to settle.
    pub goodput_bps: f64,
    /// The same in the simulator, with its own TCP, same seed and time; `None` for congestion
    /// controls that it does not have.
    pub predicted_goodput_bps: Option<f64>,
    /// Octets that the receiver got.
    pub octets: u64,
    /// Of a flow with a size: from its opening to its last octet; `None` if time was up before.
    pub completion_s: Option<f64>,
    /// Segments that the sender's TCP sent again.
    pub retransmits: u64,
    /// Round-trip time of a small packet beside the transfer, over the whole path: the median;
    /// `None` if none came back.
    pub latency_median_ms: Option<f64>,
    /// The same: the 95th percentile.
    pub latency_p95_ms: Option<f64>,
    /// Processor time of the gateway's packet loop, as a part of one core; `None` without a
    /// gateway.
    pub gateway_cores: Option<f64>,
    /// What the gateway's packet loop did; `None` without a gateway.
    pub gateway: Option<LoopReport>,
    /// Every octet arrived as it was sent.
    pub intact: bool,
    /// What each station of each 802.11 cell had of the air.
    pub stations: Vec<StationUse>,
    /// ACKs that agents in the model made in receivers' names; the gateway's are among its own.
    pub acks_generated: u64,
    /// ACKs that agents in the model kept off the air; the gateway's are among its own.
    pub acks_suppressed: u64,
    /// How the emulator did.
    pub emulator: emulator::Summary,
    /// Whether the machine kept out of it: neither the emulator nor the gateway was late.
    pub trusted: bool,
    /// Why not; each a sentence.
    pub because: Vec<String>,
}

/// Runs one case: builds the hosts, runs its flow, and takes everything down.
pub fn run(scenario: &Scenario, case: &Case, stop: &AtomicBool) -> Result<Outcome, TrialError> {
    run_with(scenario, case, None, stop)
}

/// Runs one case with another agent in place of the scheme's own: a test of what reaches an agent.
#[doc(hidden)]
pub fn run_with(
    scenario: &Scenario,
    case: &Case,
    agent: Option<AgentMaker>,
    stop: &AtomicBool,
) -> Result<Outcome, TrialError> {
    let edge = edge(scenario)?;
    let flow = &scenario.flows[case.flow_index];
    let scheme = &scenario.schemes[case.scheme_index];
    let site = Site::new(scenario)?;
    let unsuitable = |error: BuildError| TrialError::Unsuitable(error.to_string());
    let addresses: Vec<IpAddr> = (0..scenario.nodes.len()).map(|node| site.address(node)).collect();
    let hosts = RealHosts { gateway: edge, addresses: &addresses };
    let built = scenario.build_links(scheme, case.seed, hosts).map_err(unsuitable)?;
    let (mut emulated, mut transmitters) = (Vec::new(), Vec::new());
    for end in ends(scenario) {
        let (first, second) = built.ends[end.link];
        let (node, peer): (NodeId, NodeId) = if end.place == 0 { (first, second) } else { (second, first) };
        let name = device_name(&scenario.links[end.link], end.link);
        if end.node == edge && scenario.links[end.link].link.is_wireless() {
            let (first, second) = built.transmitters[end.link];
            transmitters.push((if end.place == 0 { first } else { second }, built.links[end.link]));
        }
        emulated.push(emulator::End { node, peer, device: Device::tap_in(&site.hosts[end.node], &name)? });
    }
    site.configure(scenario)?;
    // Before the emulator's clock runs: the kernel checks the gateway's programs without a break,
    // for 20 ms and more.
    let gateway = match scheme.stack() {
        Some(stack) if !stack.is_nothing() => Some(gateway::start(scenario, edge, &site, stack, agent)?),
        _ => None,
    };
    let mut emulator = Emulator::new(built.world, emulated);
    let (gateway, needs) =
        gateway.map_or((None, LinkSenses::empty()), |(gateway, needs)| (Some(gateway), needs));
    if let Some(gateway) = gateway.as_ref().filter(|_| needs.contains(LinkSenses::FRAME_FATE)) {
        gateway::listen(gateway, &mut emulator, transmitters)?;
    }
    let running = emulator.spawn(emulator::Options::default());
    let running = running.map_err(|error| TrialError::Transfer { what: "the emulator".to_owned(), error })?;
    let busy_before = gateway.as_ref().map(Gateway::report).transpose()?.map(|report| report.cpu_s);

    let transfer = Transfer {
        from: (&site.hosts[flow.from], site.address(flow.from)),
        to: (&site.hosts[flow.to], site.address(flow.to)),
        receiver_opens: opens_at_the_receiver(scenario, flow),
        port: PORT,
        congestion: &case.congestion,
        size: flow.size(),
        duration: scenario.trial.duration,
        settle: scenario.trial.settle,
        stop,
    };
    wait(flow.start, stop);
    let began = clock::now();
    // From the wired side to the wireless: through the same queue as a download.
    let (near, far) = if transfer.receiver_opens { (flow.from, flow.to) } else { (flow.to, flow.from) };
    let far = (&site.hosts[far], site.address(far));
    let failed = |error| TrialError::Transfer { what: format!("flow {:?}", flow.name), error };
    let (transferred, round_trips) =
        latency::beside(&site.hosts[near], far, || transfer.run()).map_err(failed)?;
    let transferred = transferred.map_err(failed)?;
    if stop.load(Ordering::Relaxed) {
        return Err(TrialError::Interrupted);
    }
    let took = clock::now().since(began).as_secs_f64();
    let report = gateway.as_ref().map(Gateway::report).transpose()?;
    let seats = stations::seats(scenario, &built.wlans);
    let looked = running.with_world(move |world| (stations::look(world, seats), world.reported().clone()));
    let (stations, reported) = looked.map_err(|gone| failed(io::Error::other(gone)))?;
    let busy = report.as_ref().map(|report| report.cpu_s);
    // First the emulator's clock, for the same reason; what the gateway then misses is its
    // interface.
    let summary = running.stop().map_err(failed)?;
    drop(gateway);
    let because = verdict::doubts(&summary, report.as_ref());
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(Outcome {
        case: case.clone(),
        goodput_bps: transferred.goodput_bps,
        predicted_goodput_bps: prediction::goodput_bps(scenario, case).map_err(unsuitable)?,
        octets: transferred.octets,
        completion_s: transferred.completion.map(|time| time.as_secs_f64()),
        retransmits: transferred.retransmits,
        latency_median_ms: round_trips.quantile(0.5).map(millis),
        latency_p95_ms: round_trips.quantile(0.95).map(millis),
        gateway_cores: busy.zip(busy_before).map(|(after, before)| (after - before) / took),
        gateway: report,
        intact: transferred.intact,
        stations,
        acks_generated: reported.of(&ACKS_GENERATED),
        acks_suppressed: reported.of(&ACKS_SUPPRESSED),
        emulator: summary,
        trusted: because.is_empty(),
        because,
    })
}

/// Lets what is simulated go first.
fn wait(start: Duration, stop: &AtomicBool) {
    let begin = clock::now() + start;
    while clock::now() < begin && !stop.load(Ordering::Relaxed) {
        let left = begin.since(clock::now()).min(LOOK);
        let left = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
        // A signal that cuts it short does no harm.
        let _ = nanosleep(&left);
    }
}

/// A host behind a wireless hop opens its connections itself: what it receives is a download.
fn opens_at_the_receiver(scenario: &Scenario, flow: &FlowModel) -> bool {
    scenario.role(flow.to) == Role::MobileHost && scenario.role(flow.from) != Role::MobileHost
}
