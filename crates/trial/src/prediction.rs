//! The simulator's prediction for the same run: the same links, schemes and background, with its
//! own TCP instead of the kernel's.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lasthop_linux::memory;
use lasthop_packet::{Instant, TcpFlags};
use lasthop_scenario::{
    ActivityModel, Built, Scenario, SchemeChoice, SteppedRun, Stop, Stopped, TcpModel, TransportModel,
};
use lasthop_sim::observe::End;
use lasthop_sim::{FlowId, Interest, Measured, Observer, TraceEvent, World};
use lasthop_tcp::{Congestion, SlowStart};

use super::congestion::simulated;
use super::error::TrialError;
use super::plan::{Case, edges};
use super::roaming::{HandOff, Ways};
use super::sample::Sample;
use super::session::SessionFigures;
use super::stations;

/// The prediction for a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The predictions for each flow of the case, in order.
    pub flows: Vec<Predicted>,
    /// The predictions for each session of the case, in order.
    pub sessions: Vec<SessionFigures>,
    /// The hand-offs of clients between access points.
    pub hand_offs: Vec<HandOff>,
}

/// The prediction for a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Its goodput in bits per second, defined as
    /// [`Outcome::goodput_bps`](super::Outcome::goodput_bps).
    pub goodput_bps: f64,
    /// Its share of the goodput of all flows of the run.
    pub share: f64,
    /// The share of the run for which its host was awake; `None` if it is not in power-save mode.
    pub awake_share: Option<f64>,
    /// Samples of its sender, if requested.
    pub series: Vec<Sample>,
}

/// The simulator's prediction for a case; `None` if it lacks one of the congestion controls. With
/// `sample_every`, it includes samples of the flows' senders.
///
/// TCP has the settings of the scenario, except for the congestion control.
pub fn predict(
    scenario: &Scenario,
    case: &Case,
    sample_every: Option<Duration>,
) -> Result<Option<Prediction>, TrialError> {
    let congestion: Option<Vec<Congestion>> =
        case.flows.iter().map(|flow| simulated(&flow.congestion)).collect();
    let of_sessions = case.sessions.iter().map(|session| session.congestion.as_deref().map(simulated));
    // For each session: `None` if it uses none. The whole is `None` if the simulator lacks one.
    let of_sessions: Option<Vec<Option<Congestion>>> =
        of_sessions.map(|wanted| wanted.map_or(Some(None), |found| found.map(Some))).collect();
    let (Some(congestion), Some(of_sessions)) = (congestion, of_sessions) else { return Ok(None) };

    let mut reduced = scenario.clone();
    let of_case = |index: usize| case.flows.iter().position(|flow| flow.index == index);
    reduced.keep_flows(|index, flow| of_case(index).is_some() || scenario.is_background(flow));
    // The index of each flow of the case in the reduced scenario.
    let places: Vec<usize> = case.flows.iter().filter_map(|flow| place(&reduced, &flow.name)).collect();
    let scheme = with_congestion(&reduced, case.scheme_index, &places, &congestion);
    let scheme = with_congestion_of_sessions(&reduced, scheme, case, &of_sessions);
    let mut built = reduced.build(&scheme, case.seed)?;
    let flows: Vec<SimulatedFlow> = places
        .iter()
        .map(|place| SimulatedFlow {
            id: built.flows[*place],
            start: Instant::ZERO + reduced.flows[*place].start,
            size: reduced.flows[*place].size(),
        })
        .collect();
    let established = EstablishedTimes::new(&mut built.world, &flows);
    let times = case.times(scenario);
    let [settled, end] = [times.settled, times.end].map(|time| Instant::ZERO + time);
    // If all flows have a size and there are no sessions, the run can end with the last flow.
    let stop_when_done = case.sessions.is_empty() && flows.iter().all(|flow| flow.size.is_some());
    let in_case = |error| TrialError::Prediction { of: case.traffic(), error };
    let watch = |_| memory::exceeded().map_or(Ok(()), |limit| Err(Stop::Memory { limit }));
    let mut pieces = SteppedRun::begin(&reduced, &scheme, case.seed, &mut built, &watch).map_err(in_case)?;
    let mut crash = scenario.trial.gateway_crash.map(|at| Instant::ZERO + at);
    let edges = edges(scenario)?;
    let advance = |built: &mut Built, until: Instant| {
        if let Some(at) = crash.take_if(|at| *at <= until) {
            pieces.advance(built, at, stop_when_done)?;
            for edge in &edges {
                built.world.crash_agents(built.nodes[*edge]);
            }
        }
        pieces.advance(built, until, stop_when_done)
    };
    let mut flows =
        run(&mut built, &flows, &established, [settled, end], advance, sample_every).map_err(in_case)?;
    let stations = stations::used(&built.world, stations::list(&reduced, &built.wlans));
    for (flow, place) in flows.iter_mut().zip(&places) {
        flow.awake_share = stations::awake_share(&reduced, &reduced.flows[*place], &stations);
    }
    let sessions = case.sessions.iter().map(|session| {
        let outcome = built.world.session_outcome(built.sessions[session.index]);
        SessionFigures::new(&reduced, &reduced.sessions[session.index], &outcome)
    });
    let hand_offs = Ways::of(&built.world).hand_offs();
    Ok(Some(Prediction { flows, sessions: sessions.collect(), hand_offs }))
}

fn place(scenario: &Scenario, name: &str) -> Option<usize> {
    scenario.flows.iter().position(|flow| flow.name == name)
}

/// The row of a scheme, with these congestion controls for the flows at these indices.
fn with_congestion(
    scenario: &Scenario,
    scheme_index: usize,
    places: &[usize],
    congestion: &[Congestion],
) -> SchemeChoice {
    let scheme = &scenario.schemes[scheme_index];
    let tcp = scenario.flows.iter().enumerate().map(|(index, model)| {
        let TransportModel::Tcp(own) = &model.transport else { return None };
        let mut tcp: TcpModel = scheme.tcp_of(index, own).clone();
        if let Some(of_case) = places.iter().position(|place| *place == index) {
            set_congestion(&mut tcp.sender, congestion[of_case]);
        }
        Some(tcp)
    });
    scheme.clone().with_tcp(tcp.collect())
}

/// The same row with these congestion controls for the sessions of the case, in their order.
fn with_congestion_of_sessions(
    scenario: &Scenario,
    scheme: SchemeChoice,
    case: &Case,
    congestion: &[Option<Congestion>],
) -> SchemeChoice {
    let tcp = scenario.sessions.iter().enumerate().map(|(index, session)| {
        let ActivityModel::Dialogue { tcp: own, .. } = &session.activity else { return None };
        let mut tcp = scheme.tcp_of_session(index, own).clone();
        let place = case.sessions.iter().position(|of_case| of_case.index == index);
        if let Some(congestion) = place.and_then(|place| congestion[place]) {
            set_congestion(&mut tcp, congestion);
        }
        Some(tcp)
    });
    let tcp = tcp.collect();
    scheme.with_tcp_of_sessions(tcp)
}

/// Sets the congestion control of a TCP, with its slow start in Linux.
fn set_congestion(tcp: &mut lasthop_tcp::Config, congestion: Congestion) {
    tcp.congestion = congestion;
    if tcp.slow_start == SlowStart::Hystart {
        tcp.slow_start = congestion.slow_start_in_linux();
    }
}

/// A flow of the case in the simulated world.
struct SimulatedFlow {
    id: FlowId,
    start: Instant,
    size: Option<u64>,
}

/// The times at which the connections of flows with a size were established at their senders.
#[derive(Clone, Default)]
struct EstablishedTimes(Arc<Mutex<Vec<(FlowId, Instant)>>>);

impl EstablishedTimes {
    /// Observes these flows in a world that has not run yet.
    fn new(world: &mut World, flows: &[SimulatedFlow]) -> Self {
        let times = Self::default();
        if flows.iter().any(|flow| flow.size.is_some()) {
            world.observe(Box::new(times.clone()));
        }
        times
    }

    fn of_flow(&self, flow: FlowId) -> Option<Instant> {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.iter().find(|(known, _)| *known == flow).map(|(_, at)| *at)
    }
}

impl Observer for EstablishedTimes {
    fn interest(&self) -> Interest {
        Interest::SEGMENTS
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        let TraceEvent::SegmentReceived { flow, end: End::Sender, packet } = *event else { return };
        // The SYN-ACK (RFC 9293, section 3.5).
        let is_syn_ack = packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN.with(TcpFlags::ACK)));
        if is_syn_ack && self.of_flow(flow).is_none() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push((flow, now));
        }
    }
}

/// The share of a value in the sum of all; 0 if the sum is 0.
pub(super) fn share_of(own: f64, all: &[f64]) -> f64 {
    let sum: f64 = all.iter().sum();
    if sum > 0.0 { own / sum } else { 0.0 }
}

/// Runs to the end with `advance`, which runs a world to a time.
fn run(
    built: &mut Built,
    flows: &[SimulatedFlow],
    established: &EstablishedTimes,
    [settled, end]: [Instant; 2],
    mut advance: impl FnMut(&mut Built, Instant) -> Result<(), Stopped>,
    sample_every: Option<Duration>,
) -> Result<Vec<Predicted>, Stopped> {
    let mut series = vec![Vec::new(); flows.len()];
    let mut run_to = |built: &mut Built, to: Instant, from: Instant| {
        if let Some(every) = sample_every {
            let mut next = from + every;
            while next < to {
                advance(built, next)?;
                sample(&built.world, flows, next, &mut series);
                next += every;
            }
        }
        advance(built, to)
    };
    run_to(built, settled, Instant::ZERO)?;
    let before: Vec<u64> = flows.iter().map(|flow| built.world.outcome(flow.id).octets).collect();
    run_to(built, end, settled)?;
    let goodput = |flow: &SimulatedFlow, before: u64| {
        let outcome = built.world.outcome(flow.id);
        match flow.size {
            // Defined as `Transferred::goodput_bps` of a real host.
            Some(_) => {
                let from = established.of_flow(flow.id).unwrap_or(flow.start);
                Measured { from, ..outcome.measured }.rate_bps(outcome.octets)
            }
            None => (outcome.octets - before) as f64 * 8.0 / end.since(settled).as_secs_f64(),
        }
    };
    let goodputs: Vec<f64> = flows.iter().zip(before).map(|(flow, before)| goodput(flow, before)).collect();
    let predicted = goodputs.iter().zip(series).map(|(goodput_bps, series)| Predicted {
        goodput_bps: *goodput_bps,
        share: share_of(*goodput_bps, &goodputs),
        awake_share: None,
        series,
    });
    Ok(predicted.collect())
}

/// Adds a sample of each flow that has started.
fn sample(world: &World, flows: &[SimulatedFlow], now: Instant, series: &mut [Vec<Sample>]) {
    for (flow, series) in flows.iter().zip(series) {
        if let Some(sender) = world.sender(flow.id).filter(|_| now >= flow.start) {
            series.push(Sample::from_connection(sender, now.since(flow.start)));
        }
    }
}
