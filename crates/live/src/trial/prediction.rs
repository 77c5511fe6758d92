//! What the simulator has for the same run: the same links, schemes and background, with its own
//! TCP in the place of the kernel's.

#[cfg(test)]
mod tests;

use lasthop_packet::Instant;
use lasthop_scenario::{BuildError, Scenario, TcpModel, TransportModel};
use lasthop_tcp::{Congestion, SlowStart};

use super::plan::Case;

/// The simulator's goodput for a case, counted as the trial counts it, in bits a second; `None` for
/// a congestion control that the simulator does not have.
///
/// The flow's TCP is the scenario's but for its congestion control.
pub fn goodput_bps(scenario: &Scenario, case: &Case) -> Result<Option<f64>, BuildError> {
    let Some(congestion) = congestion(&case.congestion) else { return Ok(None) };
    let mut scenario = scenario.clone();
    let background: Vec<bool> = scenario.flows.iter().map(|flow| scenario.is_background(flow)).collect();
    scenario.keep_flows(|index, _| index == case.flow_index || background[index]);
    let flow = background[..case.flow_index].iter().filter(|is_kept| **is_kept).count();

    let scheme = &scenario.schemes[case.scheme_index];
    let tcp = scenario.flows.iter().enumerate().map(|(index, model)| {
        let TransportModel::Tcp(own) = &model.transport else { return None };
        let mut tcp: TcpModel = scheme.tcp_of(index, own).clone();
        if index == flow {
            tcp.sender.congestion = congestion;
            if tcp.sender.slow_start == SlowStart::Hystart {
                tcp.sender.slow_start = congestion.slow_start_in_linux();
            }
        }
        Some(tcp)
    });
    let scheme = scheme.clone().with_tcp(tcp.collect());
    let mut built = scenario.build(&scheme, case.seed)?;
    let (world, id) = (&mut built.world, built.flows[flow]);

    let start = Instant::ZERO + scenario.flows[flow].start;
    let end = start + scenario.trial.duration;
    if scenario.flows[flow].size().is_some() {
        world.run(end, true);
        return Ok(Some(world.outcome(id).goodput_bps));
    }
    let settled = start + scenario.trial.settle;
    world.run(settled, false);
    let before = world.outcome(id).octets;
    world.run(end, false);
    let octets = world.outcome(id).octets - before;
    Ok(Some(octets as f64 * 8.0 / end.since(settled).as_secs_f64()))
}

/// The simulator's congestion control that is the kernel's of this name.
fn congestion(name: &str) -> Option<Congestion> {
    match name {
        "cubic" => Some(Congestion::Cubic.as_in_linux()),
        "reno" => Some(Congestion::Reno.as_in_linux()),
        _ => None,
    }
}
