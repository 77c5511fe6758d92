//! What shows in the whole scenario only: whether it can run under each of its schemes.
use super::reader::{Key, Reader};
use crate::build::{BuildError, Network, of_stations};
use crate::model::{ActivityModel, MTU, Scenario, TransportModel};
use lasthop_config::FileError;

/// Octets of the headers of IPv4 and TCP; options are taken from the segment.
const HEADERS: u32 = 40;
/// The same of IPv4 and UDP.
const UDP_HEADERS: u32 = 28;

/// What shows in the whole scenario only.
pub(super) fn scenario(reader: &Reader<'_>, scenario: &Scenario) -> Result<(), FileError> {
    let network = Network::new(scenario).map_err(|error| cannot_run(reader, &error))?;
    if let Some(seed) = scenario.seeds.first() {
        of_stations(scenario, *seed).map_err(|error| cannot_run(reader, &error))?;
    }
    for (index, scheme) in scenario.schemes.iter().enumerate() {
        if let Err(error) = network.agents(scheme) {
            return Err(reader.fail(&["schemes", &index.to_string()], error.to_string()));
        }
    }
    refuse_large_datagrams(reader, scenario, &network)
}

/// An error about the key that has what cannot be built.
fn cannot_run(reader: &Reader<'_>, error: &BuildError) -> FileError {
    let problem = error.to_string();
    match error {
        BuildError::NoRoute { flow, .. } => reader.fail(&["flows", flow, "to"], problem),
        BuildError::NoRouteForSession { session, .. } => reader.fail(&["sessions", session], problem),
        BuildError::Circle { node, destination } => {
            reader.fail(&["nodes", node, "routes", destination], problem)
        }
        BuildError::Placement { wlan, .. } => reader.fail(&["wlans", wlan, "placement", "apart"], problem),
        BuildError::OnDemand { node, .. } => reader.fail(&["nodes", node], problem),
        BuildError::RealHosts { wlan } => reader.fail(&["wlans", wlan, "routing"], problem),
        BuildError::Agent { .. } => reader.fail(&["schemes"], problem),
    }
}

/// A cell carries datagrams up to its MTU, and nothing here fragments.
fn refuse_large_datagrams(
    reader: &Reader<'_>,
    scenario: &Scenario,
    network: &Network<'_>,
) -> Result<(), FileError> {
    if scenario.wlans.is_empty() {
        return Ok(());
    }
    for (index, flow) in scenario.flows.iter().enumerate() {
        for (row, scheme) in scenario.schemes.iter().enumerate() {
            let datagram = match &flow.transport {
                TransportModel::Tcp(tcp) => scheme.tcp_of(index, tcp).sender.mss.saturating_add(HEADERS),
                TransportModel::Udp => flow.application.message().saturating_add(UDP_HEADERS),
            };
            if datagram <= MTU || !network.crosses_a_wlan(flow.from, flow.to) {
                continue;
            }
            let row = row.to_string();
            let keys: [&Key<'_>; 4] = [
                &["flows", &flow.name, "application", "message"],
                &["schemes", &row, "tcp", "segment"],
                &["flows", &flow.name, "tcp", "segment"],
                &["tcp", "segment"],
            ];
            let written = keys.into_iter().find(|key| reader.document.get(key).is_some());
            let problem = format!(
                "flow {:?} sends datagrams of {datagram} octets including headers, above the limit of {} of an 802.11 cell on their path; expected at most \"{} B\" without headers",
                flow.name,
                MTU,
                MTU - if flow.tcp().is_some() { HEADERS } else { UDP_HEADERS }
            );
            return Err(reader.fail(written.unwrap_or(&["flows", &flow.name]), problem));
        }
    }
    refuse_large_datagrams_of_sessions(reader, scenario, network)
}

/// The same of sessions.
fn refuse_large_datagrams_of_sessions(
    reader: &Reader<'_>,
    scenario: &Scenario,
    network: &Network<'_>,
) -> Result<(), FileError> {
    for (index, session) in scenario.sessions.iter().enumerate() {
        for (row, scheme) in scenario.schemes.iter().enumerate() {
            let datagram = match &session.activity {
                ActivityModel::Dialogue { tcp, .. } => {
                    scheme.tcp_of_session(index, tcp).mss.saturating_add(HEADERS)
                }
                // They fit, whatever is set.
                ActivityModel::Call(_) => continue,
            };
            if datagram <= MTU || !network.crosses_a_wlan(session.client, session.server) {
                continue;
            }
            let row = row.to_string();
            let keys: [&Key<'_>; 3] = [
                &["schemes", &row, "tcp", "segment"],
                &["sessions", &session.name, "tcp", "segment"],
                &["tcp", "segment"],
            ];
            let written = keys.into_iter().find(|key| reader.document.get(key).is_some());
            let problem = format!(
                "session {:?} sends datagrams of {datagram} octets including headers, above the limit of {MTU} of an 802.11 cell on their path; expected at most \"{} B\" without headers",
                session.name,
                MTU - HEADERS
            );
            return Err(reader.fail(written.unwrap_or(&["sessions", &session.name]), problem));
        }
    }
    Ok(())
}
