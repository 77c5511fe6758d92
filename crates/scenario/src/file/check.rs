//! Checks of the scenario as a whole: whether it can run under each of its schemes.
use super::reader::{Key, Reader};
use crate::build::{BuildError, Network, of_stations};
use crate::model::{ActivityModel, MTU, Scenario, TransportModel};
use lasthop_config::FileError;

/// Octets of the headers of IPv4 and TCP; options are taken from the segment.
const HEADERS: u32 = 40;
/// Octets of the headers of IPv4 and UDP.
const UDP_HEADERS: u32 = 28;

/// Checks the scenario as a whole, with the first of its seeds.
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

/// An error about the key that makes the scenario impossible.
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
        BuildError::Roaming { wlan, .. } => reader.fail(&["wlans", wlan, "roaming"], problem),
        BuildError::Translation { node } => reader.fail(&["nodes", node, "nat"], problem),
        BuildError::Established { flow, .. } => reader.fail(&["flows", flow, "opening"], problem),
        BuildError::RegistryOutside { wlan, .. } => {
            reader.fail(&["wlans", wlan, "roaming", "registry"], problem)
        }
        BuildError::NotInside { wlan, .. } => reader.fail(&["wlans", wlan, "roaming", "nat"], problem),
        BuildError::Agent { .. } => reader.fail(&["schemes"], problem),
    }
}

/// Refuses datagrams above the MTU of a cell on their path. Nothing here fragments them.
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
            let (payload, headers) = match &flow.transport {
                TransportModel::Tcp(tcp) => (scheme.tcp_of(index, tcp).sender.mss, HEADERS),
                TransportModel::Udp => (flow.application.message(), UDP_HEADERS),
            };
            let datagram = payload.saturating_add(headers);
            if datagram > MTU && network.crosses_a_wlan(flow.from, flow.to) {
                return Err(too_large(reader, ["flow", &flow.name], row, datagram, headers));
            }
        }
    }
    for (index, session) in scenario.sessions.iter().enumerate() {
        // The packets of calls and videos fit with all settings.
        let ActivityModel::Dialogue { tcp, .. } = &session.activity else { continue };
        for (row, scheme) in scenario.schemes.iter().enumerate() {
            let datagram = scheme.tcp_of_session(index, tcp).mss.saturating_add(HEADERS);
            if datagram > MTU && network.crosses_a_wlan(session.client, session.server) {
                return Err(too_large(reader, ["session", &session.name], row, datagram, HEADERS));
            }
        }
    }
    Ok(())
}

/// The error about a flow or session that sends too large a datagram, at the key that sets its
/// size.
fn too_large(
    reader: &Reader<'_>,
    [kind, name]: [&str; 2],
    row: usize,
    datagram: u32,
    headers: u32,
) -> FileError {
    let (table, row) = (format!("{kind}s"), row.to_string());
    let keys: [&Key<'_>; 4] = [
        &[&table, name, "application", "message"],
        &["schemes", &row, "tcp", "segment"],
        &[&table, name, "tcp", "segment"],
        &["tcp", "segment"],
    ];
    let written = keys.into_iter().find(|key| reader.document.get(key).is_some());
    let problem = format!(
        "{kind} {name:?} sends datagrams of {datagram} octets including headers, above the limit of {MTU} of an 802.11 cell on their path; expected at most \"{} B\" without headers",
        MTU - headers
    );
    reader.fail(written.unwrap_or(&[&table, name]), problem)
}
