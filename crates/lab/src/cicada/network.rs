//! The network: `scenarios/cicada/one-wlan.toml`, and `hand-off.toml` for hand-offs. They list each choice that the paper
//! leaves open, with the reason and the alternatives that were tried.

use serde_json::{Map, json};

use crate::claim::{Effort, Runs, Setting};
use crate::progress::Progress;
use crate::run::RunError;

const ONE_WLAN: &str = include_str!("../../../../scenarios/cicada/one-wlan.toml");
const HAND_OFF: &str = include_str!("../../../../scenarios/cicada/hand-off.toml");

/// The groups of stations with calls: the first ten, twenty and thirty.
const CALLERS: [&str; 3] = ["browser", "mailer", "mover"];
/// The kinds of sessions of the load; ten stations have each.
const KINDS: [&str; 3] = ["web", "mail", "ftp"];

/// Whether stations move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stations {
    /// All stay.
    Stay,
    /// Some walk to another access point and back.
    Roam,
}

/// Runs the network with `calls` calls, a multiple of ten up to 30. Each station offers
/// `load_kbps` kbit/s.
pub fn run(
    stations: Stations,
    (calls, load_kbps): (usize, u32),
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Runs, RunError> {
    let text = match stations {
        Stations::Stay => ONE_WLAN,
        Stations::Roam => HAND_OFF,
    };
    let parameters =
        Map::from_iter([("calls".to_owned(), json!(calls)), ("load_kbps".to_owned(), json!(load_kbps))]);
    let setting = Setting { settings: settings(calls, load_kbps), parameters, schemes: &[] };
    Runs::run_with("cicada", text, setting, effort, progress)
}

/// The settings; the calls of the first ten are in the file itself.
fn settings(calls: usize, load_kbps: u32) -> Vec<String> {
    let loads = KINDS.map(|kind| format!("sessions.{kind}.load={load_kbps} kbit/s"));
    let more = CALLERS.iter().zip(1..=calls / 10).skip(1);
    let more = more.map(|(caller, number)| {
        format!("sessions.call-{number}={{ kind = 'voice', between = ['{caller}', 'lan'] }}")
    });
    loads.into_iter().chain(more).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lasthop_apps::session::Pace;
    use lasthop_scenario::model::{ActivityModel, SessionModel, WlanModel};
    use lasthop_scenario::{Overrides, Scenario, file};

    use super::*;

    const FOUR_WLANS: &str = include_str!("../../../../scenarios/cicada/four-wlans.toml");

    fn scenario(text: &str, calls: usize, load_kbps: u32) -> Scenario {
        let overrides = Overrides { settings: settings(calls, load_kbps), ..Overrides::default() };
        file::parse(text, "scenario.toml", Path::new("."), &overrides).expect("it reads")
    }

    #[test]
    fn thirty_stations_have_the_load_and_as_many_call_as_the_table_says() {
        for (text, wlans) in [(ONE_WLAN, 1), (HAND_OFF, 1), (FOUR_WLANS, 4)] {
            for (calls, load) in [(10, 50), (20, 100), (30, 200)] {
                let scenario = scenario(text, calls, load);
                assert_eq!(scenario.wlans.len(), wlans);
                // The access points are stations, too.
                let access_points = |wlan: &WlanModel| wlan.access_points().count().max(1);
                let stations = scenario.wlans.iter().map(|wlan| wlan.stations.len() - access_points(wlan));
                let stations: usize = stations.sum();
                assert_eq!(stations, 30);
                let (voice, elastic): (Vec<_>, Vec<_>) =
                    scenario.sessions.iter().partition(|session| session.activity.kind() == "voice");
                assert_eq!((voice.len(), elastic.len()), (calls, 30));
                let mut callers: Vec<usize> = voice.iter().map(|session| session.client).collect();
                callers.dedup();
                assert_eq!(callers.len(), calls, "each station has one call at most");
                let offers = |session: &&SessionModel| matches!(&session.activity, ActivityModel::Dialogue { pace, .. } if *pace == Pace::Load(rate(load)));
                assert!(elastic.iter().all(offers), "{elastic:?}");
            }
        }
    }

    fn rate(kbps: u32) -> lasthop_packet::Bitrate {
        format!("{kbps} kbit/s").parse().expect("a rate")
    }
}
