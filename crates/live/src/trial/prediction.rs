//! What the simulator has for the same run: the same links, schemes and background, with its own
//! TCP in the place of the kernel's.

#[cfg(test)]
mod tests;

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_scenario::{BuildError, Scenario, SchemeChoice, TcpModel, TransportModel};
use lasthop_sim::{FlowId, World};
use lasthop_tcp::{Congestion, SlowStart};

use super::congestion::simulated;
use super::plan::Case;
use super::sample::Sample;

/// What the simulator predicts of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Its goodput, counted as the trial counts it, in bits a second.
    pub goodput_bps: f64,
    /// Its part of the goodput of all flows of the run.
    pub share: f64,
    /// Its sender over time, if asked for.
    pub series: Vec<Sample>,
}

/// The simulator's prediction for each flow of a case, in order; `None` if it does not have the
/// congestion control of all. With `sample_every`, also their senders over time.
///
/// A flow's TCP is the scenario's but for its congestion control.
pub fn predict(
    scenario: &Scenario,
    case: &Case,
    sample_every: Option<Duration>,
) -> Result<Option<Vec<Predicted>>, BuildError> {
    let congestion: Option<Vec<Congestion>> =
        case.flows.iter().map(|flow| simulated(&flow.congestion)).collect();
    let Some(congestion) = congestion else { return Ok(None) };

    let mut reduced = scenario.clone();
    let of_case = |index: usize| case.flows.iter().position(|flow| flow.index == index);
    reduced.keep_flows(|index, flow| of_case(index).is_some() || scenario.is_background(flow));
    // Where in the reduced scenario each flow of the case stands.
    let places: Vec<usize> = case.flows.iter().filter_map(|flow| place(&reduced, &flow.name)).collect();
    let scheme = with_congestion(&reduced, case.scheme_index, &places, &congestion);
    let mut built = reduced.build(&scheme, case.seed)?;
    let flows: Vec<Followed> = places
        .iter()
        .map(|place| Followed {
            id: built.flows[*place],
            start: Instant::ZERO + reduced.flows[*place].start,
            size: reduced.flows[*place].size(),
        })
        .collect();
    let times = case.times(scenario);
    let [settled, end] = [times.settled, times.end].map(|time| Instant::ZERO + time);
    Ok(Some(run(&mut built.world, &flows, settled, end, sample_every)))
}

fn place(scenario: &Scenario, name: &str) -> Option<usize> {
    scenario.flows.iter().position(|flow| flow.name == name)
}

/// The row of a scheme, with these congestion controls for the flows at these places.
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
            tcp.sender.congestion = congestion[of_case];
            if tcp.sender.slow_start == SlowStart::Hystart {
                tcp.sender.slow_start = congestion[of_case].slow_start_in_linux();
            }
        }
        Some(tcp)
    });
    scheme.clone().with_tcp(tcp.collect())
}

/// A flow of the case in the world.
struct Followed {
    id: FlowId,
    start: Instant,
    size: Option<u64>,
}

/// A part of a sum; of nothing, nothing.
pub(super) fn share_of(own: f64, all: &[f64]) -> f64 {
    let sum: f64 = all.iter().sum();
    if sum > 0.0 { own / sum } else { 0.0 }
}

fn run(
    world: &mut World,
    flows: &[Followed],
    settled: Instant,
    end: Instant,
    sample_every: Option<Duration>,
) -> Vec<Predicted> {
    // With nothing but flows that have a size, what follows the last of them is of no interest.
    let stop_when_done = flows.iter().all(|flow| flow.size.is_some());
    let mut series = vec![Vec::new(); flows.len()];
    let mut run_to = |world: &mut World, to: Instant, from: Instant| {
        if let Some(every) = sample_every {
            let mut next = from + every;
            while next < to {
                world.run(next, stop_when_done);
                sample(world, flows, next, &mut series);
                next += every;
            }
        }
        world.run(to, stop_when_done);
    };
    run_to(world, settled, Instant::ZERO);
    let before: Vec<u64> = flows.iter().map(|flow| world.outcome(flow.id).octets).collect();
    run_to(world, end, settled);
    let goodput = |flow: &Followed, before: u64| {
        let outcome = world.outcome(flow.id);
        match flow.size {
            Some(_) => outcome.goodput_bps,
            None => (outcome.octets - before) as f64 * 8.0 / end.since(settled).as_secs_f64(),
        }
    };
    let goodputs: Vec<f64> = flows.iter().zip(before).map(|(flow, before)| goodput(flow, before)).collect();
    let predicted = goodputs.iter().zip(series).map(|(goodput_bps, series)| Predicted {
        goodput_bps: *goodput_bps,
        share: share_of(*goodput_bps, &goodputs),
        series,
    });
    predicted.collect()
}

/// Adds a sample of each flow that has started.
fn sample(world: &World, flows: &[Followed], now: Instant, series: &mut [Vec<Sample>]) {
    for (flow, series) in flows.iter().zip(series) {
        if let Some(sender) = world.sender(flow.id).filter(|_| now >= flow.start) {
            series.push(Sample::of_simulated(sender, now.since(flow.start)));
        }
    }
}
