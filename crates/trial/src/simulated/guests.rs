//! The guests of a run: one for each kernel. Hosts with the same kernel are namespaces of one guest. The first guest has the
//! run's kernel, if any host is on that.

use std::collections::BTreeSet;

use lasthop_packet::rng::Rng;
use lasthop_scenario::Scenario;

use crate::bridged::Lan;
use crate::error::TrialError;
use crate::here::Here;
use crate::options::{HostKernel, Simulation};

/// The most guests of a run. Each has the memory of a kernel.
const MAX_GUESTS: usize = 8;

/// A guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guest<'a> {
    pub(super) kernel: &'a HostKernel,
    /// The nodes whose hosts it has.
    pub(super) nodes: Here,
}

/// The guests of a run.
pub(super) fn of<'a>(scenario: &Scenario, simulation: &'a Simulation) -> Vec<Guest<'a>> {
    let mut guests: Vec<(&HostKernel, BTreeSet<usize>)> = vec![(&simulation.kernel, BTreeSet::new())];
    for node in (0..scenario.nodes.len()).filter(|node| !scenario.trial.simulated.contains(node)) {
        let kernel = simulation.kernel_of(node);
        match guests.iter_mut().find(|(known, _)| known.path == kernel.path) {
            Some((_, nodes)) => drop(nodes.insert(node)),
            None => guests.push((kernel, [node].into())),
        }
    }
    guests.retain(|(_, nodes)| !nodes.is_empty());
    let is_alone = guests.len() == 1;
    let nodes_of = |nodes| if is_alone { Here::All } else { Here::Only(nodes) };
    guests.into_iter().map(|(kernel, nodes)| Guest { kernel, nodes: nodes_of(nodes) }).collect()
}

/// The number of the guest that has the host of a node.
pub(super) fn with(guests: &[Guest<'_>], node: usize) -> usize {
    guests.iter().position(|guest| guest.nodes.has(node)).unwrap_or_default()
}

/// The seed of the random numbers of a guest's kernel. Two kernels that draw the same would not be two hosts.
pub(super) fn seed(of_run: u64, guest: usize) -> u64 {
    if guest == 0 { of_run } else { Rng::named(of_run, &format!("guest-{guest}")).next_u64() }
}

/// Checks that the hosts of a run can be on these kernels.
pub(super) fn check(scenario: &Scenario, simulation: &Simulation) -> Result<(), TrialError> {
    let guests = of(scenario, simulation);
    let refused = |key: &str, problem: String| Err(TrialError::unsuitable(key, problem));
    if guests.len() > MAX_GUESTS {
        let problem = format!("{} kernels in one run; expected at most {MAX_GUESTS}", guests.len());
        return refused("try.kernels", problem);
    }
    if guests.len() == 1 {
        return Ok(());
    }
    if Lan::of(scenario).is_some() {
        return refused("try.kernels", "clients roam on one kernel; leave it out".to_owned());
    }
    let name = |node: usize| &scenario.nodes[node].name;
    let sessions = scenario.sessions.iter().filter(|session| !scenario.is_background_session(session));
    for session in sessions {
        if with(&guests, session.client) != with(&guests, session.server) {
            let problem = format!(
                "{:?} and {:?} have different kernels (try.kernels), and both ends of a session run on one; expected the same \
                 kernel for both, or flows",
                name(session.client),
                name(session.server)
            );
            return refused(&format!("sessions.{}", session.name), problem);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lasthop_scenario::{Overrides, file};

    use super::*;
    use crate::options::{GuestProgram, Reading};
    use crate::radios::Wifi;

    fn scenario(text: &str, settings: &[&str]) -> Scenario {
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let overrides = Overrides { settings, ..Overrides::default() };
        file::parse(text, "x.toml", Path::new(""), &overrides).unwrap_or_else(|error| panic!("{error}"))
    }

    fn hop(settings: &[&str]) -> Scenario {
        scenario(include_str!("../../../../scenarios/try.toml"), settings)
    }

    fn kernel(name: &str) -> HostKernel {
        HostKernel { path: format!("/kernels/{name}").into(), name: name.to_owned(), series: None }
    }

    /// A run with the kernel 6.12 on which these nodes have others.
    fn simulation(scenario: &Scenario, own: &[(&str, &str)]) -> Simulation {
        let node = |name| scenario.nodes.iter().position(|node| node.name == name).expect("a node");
        Simulation {
            kernel: kernel("6.12"),
            own_kernels: own.iter().map(|(name, version)| (node(*name), kernel(version))).collect(),
            guest: GuestProgram { path: "/lasthop".into(), argument: "guest" },
            reading: Reading::default(),
            wifi: Wifi::Kernel,
        }
    }

    /// The kernel of each guest, and the nodes that it has.
    fn guests(settings: &[&str], own: &[(&str, &str)]) -> Vec<(String, String)> {
        let scenario = hop(settings);
        let simulation = simulation(&scenario, own);
        let nodes = |guest: &Guest<'_>| {
            let nodes = scenario.nodes.iter().enumerate().filter(|(node, _)| guest.nodes.has(*node));
            nodes.map(|(_, node)| node.name.as_str()).collect::<Vec<_>>().join(" ")
        };
        of(&scenario, &simulation).iter().map(|guest| (guest.kernel.name.clone(), nodes(guest))).collect()
    }

    fn pair(kernel: &str, nodes: &str) -> (String, String) {
        (kernel.to_owned(), nodes.to_owned())
    }

    #[test]
    fn hosts_with_the_same_kernel_share_a_guest_and_the_runs_comes_first() {
        let all = "server gateway client";
        assert_eq!(guests(&[], &[]), [pair("6.12", all)]);
        assert_eq!(guests(&[], &[("server", "6.12")]), [pair("6.12", all)]);
        let two = guests(&[], &[("client", "6.1"), ("server", "6.1")]);
        assert_eq!(two, [pair("6.12", "gateway"), pair("6.1", "server client")]);
        let none_is_left = guests(&[], &[("client", "6.1"), ("gateway", "6.6"), ("server", "6.1")]);
        assert_eq!(none_is_left, [pair("6.1", "server client"), pair("6.6", "gateway")]);
        assert_eq!(of(&hop(&[]), &simulation(&hop(&[]), &[]))[0].nodes, Here::All);
    }

    #[test]
    fn a_run_is_labelled_with_the_kernels_that_differ() {
        let scenario = hop(&[]);
        let label = |own: &[(&str, &str)]| simulation(&scenario, own).label(&scenario);
        assert_eq!(label(&[]), "6.12");
        assert_eq!(label(&[("server", "6.12")]), "6.12");
        assert_eq!(label(&[("server", "6.1")]), "6.12 (server 6.1)");
        assert_eq!(label(&[("server", "6.1"), ("client", "6.1")]), "6.12 (server, client 6.1)");
        assert_eq!(label(&[("server", "6.1"), ("client", "6.6")]), "6.12 (server 6.1; client 6.6)");
    }

    #[test]
    fn the_first_guest_has_the_seed_of_the_run_and_no_other_one_has_the_same() {
        assert_eq!(seed(7, 0), 7);
        let seeds: BTreeSet<u64> =
            [7, 8].into_iter().flat_map(|run| (0..8).map(move |guest| seed(run, guest))).collect();
        assert_eq!(seeds.len(), 16);
    }

    fn refusal(scenario: &Scenario, own: &[(&str, &str)]) -> String {
        let checked = check(scenario, &simulation(scenario, own));
        checked.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_session_has_both_ends_on_one_kernel() {
        let scenario = scenario(include_str!("../../../../scenarios/try-sessions.toml"), &[]);
        let session = &scenario.sessions[0];
        let [client, server] =
            [session.client, session.server].map(|node| scenario.nodes[node].name.as_str());
        let refused = refusal(&scenario, &[(server, "6.1")]);
        assert!(refused.contains("sessions.") && refused.contains("try.kernels"), "{refused}");
        let gateway = scenario.nodes.iter().find(|node| ![client, server].contains(&node.name.as_str()));
        assert_eq!(refusal(&scenario, &[(&gateway.expect("a router").name, "6.1")]), "");
        assert_eq!(refusal(&scenario, &[(server, "6.12")]), "");
    }

    #[test]
    fn clients_roam_on_one_kernel() {
        let scenario = scenario(include_str!("../../../../scenarios/try-roaming.toml"), &[]);
        let node = scenario.nodes[0].name.clone();
        assert!(refusal(&scenario, &[(&node, "6.1")]).contains("clients roam"));
        assert_eq!(refusal(&scenario, &[]), "");
    }

    /// Eight stations of a cell.
    const PHONES: &str = r#"
duration = "10 s"
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.phone = { kind = "host", count = 8 }
links.wire = { between = ["server", "gateway"], rate = "1 Gbit/s", delay = "1 ms" }
wlans.cell = { standard = "802.11g", access-point = "gateway", stations = ["phone"] }
flows.download = { from = "server", to = "phone" }
"#;

    #[test]
    fn a_label_does_not_name_all_members_of_a_large_group() {
        let scenario = scenario(PHONES, &["try.kernels.phone=6.1"]);
        let nodes: Vec<&str> =
            scenario.trial.kernels.keys().map(|node| scenario.nodes[*node].name.as_str()).collect();
        let own: Vec<(&str, &str)> = nodes.into_iter().map(|node| (node, "6.1")).collect();
        let label = simulation(&scenario, &own).label(&scenario);
        assert_eq!(label, "6.12 (phone-1, phone-2, phone-3 and 5 more 6.1)");
    }

    #[test]
    fn a_run_has_at_most_eight_kernels() {
        let scenario = scenario(PHONES, &[]);
        let names: Vec<(String, String)> =
            (1..=8).map(|number| (format!("phone-{number}"), format!("6.{number}"))).collect();
        let own: Vec<(&str, &str)> =
            names.iter().map(|(node, kernel)| (node.as_str(), kernel.as_str())).collect();
        assert_eq!(refusal(&scenario, &own[1..]), "");
        assert!(refusal(&scenario, &own).contains("9 kernels in one run; expected at most 8"));
    }
}
