//! The use of the air by the stations of a trial's 802.11 cells.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_scenario::{FlowModel, Scenario, build::BuiltWlan};
use lasthop_sim::{StationId, WlanId, World};
use serde::Serialize;

/// A station's share of the air, in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StationUse {
    /// The cell.
    pub wlan: String,
    /// The node.
    pub name: String,
    /// Frames that it delivered or gave up.
    pub frames: u64,
    /// Transmissions of these frames.
    pub transmissions: u64,
    /// Frames that it gave up.
    pub given_up: u64,
    /// Seconds that it spent transmitting these frames.
    pub air_time_s: f64,
    /// Seconds for which it was awake; null for a station that is not in power-save mode.
    pub awake_s: Option<f64>,
    /// `awake_s` as a share of the run; null likewise.
    pub awake_share: Option<f64>,
}

impl StationUse {
    /// For how long it was awake until now.
    pub(super) fn set_awake(&mut self, awake: Duration, now: Instant) {
        self.awake_s = Some(awake.as_secs_f64());
        self.awake_share = share(awake, now);
    }
}

/// A time as a share of all until now.
fn share(time: Duration, now: Instant) -> Option<f64> {
    let all = now.as_secs_f64();
    (all > 0.0).then(|| time.as_secs_f64() / all)
}

/// A station of the world, with the names of its cell and its node.
pub(super) struct NamedStation {
    wlan: WlanId,
    station: StationId,
    names: [String; 2],
}

/// Every station.
pub(super) fn list(scenario: &Scenario, wlans: &[BuiltWlan]) -> Vec<NamedStation> {
    let stations = scenario.wlans.iter().zip(wlans).flat_map(|(model, built)| {
        model.stations.iter().zip(&built.stations).map(|(station, id)| NamedStation {
            wlan: built.wlan,
            station: *id,
            names: [model.name.clone(), scenario.nodes[station.node].name.clone()],
        })
    });
    stations.collect()
}

/// The use of the air by these stations so far.
pub(super) fn used(world: &World, stations: Vec<NamedStation>) -> Vec<StationUse> {
    stations
        .into_iter()
        .map(|NamedStation { wlan, station, names: [cell, name] }| {
            let used = world.radio_use(wlan, station);
            StationUse {
                wlan: cell,
                name,
                frames: used.frames,
                transmissions: used.transmissions,
                given_up: used.given_up,
                air_time_s: used.air_time.as_secs_f64(),
                awake_s: used.awake.map(|awake| awake.as_secs_f64()),
                awake_share: used.awake.and_then(|awake| share(awake, world.now())),
            }
        })
        .collect()
}

/// The share of the run for which the first end of a flow in power-save mode was awake; `None` if
/// neither end is in power-save mode.
pub(super) fn awake_share(scenario: &Scenario, flow: &FlowModel, stations: &[StationUse]) -> Option<f64> {
    [flow.from, flow.to].iter().find_map(|node| {
        let name = &scenario.nodes[*node].name;
        stations.iter().find(|station| station.name == *name)?.awake_share
    })
}
