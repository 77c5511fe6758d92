//! The gateway of a trial: the real daemon, in the namespace of an edge, and the reports of its
//! link layers.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use lasthop_agent::LinkSenses;
use lasthop_linux::namespace::Namespace;
use lasthop_scenario::{BuiltLinks, Scenario};
use lasthop_schemes::{Role, SchemeStack};
use lasthop_sim::{LinkId, NodeId};

use super::adapters::CABLE;
use super::error::TrialError;
use super::radios::{GUEST_FOLDER, NO_RADIOS, Radio, Radios, has_agent};
use super::site::{End, Site, ends};
use lasthop_emulator::Emulator;
use lasthop_gateway::config::{Config, TxStatus};
use lasthop_gateway::link::LinkReporter;
use lasthop_gateway::plan::{AgentMaker, RuleError, RulePlan, RuleProblem, Surroundings};
use lasthop_gateway::selector::Selector;
use lasthop_gateway::{Gateway, Start};

/// Fates of frames that may wait for the packet loop. A hop of 100 Mbit/s makes some 8000 a second,
/// so that those of 100 ms fit, and the loop still processes all of them in a short turn.
const FATES: usize = 1024;

/// Whose time the hosts' clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// This machine's.
    Real,
    /// That of the model.
    Simulated,
}

impl Clock {
    /// The folder in which gateways may write.
    pub(super) fn folder(self) -> PathBuf {
        match self {
            Self::Real => std::env::temp_dir(),
            Self::Simulated => GUEST_FOLDER.into(),
        }
    }
}

/// Where a gateway of a trial is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    role: Role,
    /// The source of messages that its agents send.
    address: IpAddr,
    /// Its interfaces to the wired network, and to the wireless hop.
    ports: (Vec<String>, Vec<String>),
    senses: LinkSenses,
    /// Whether Wi-Fi drivers report what it learns of frames.
    has_driver: bool,
}

impl Place {
    /// At an edge with this address and these ports.
    pub(super) fn at_edge(
        scenario: &Scenario,
        (edge, address): (usize, IpAddr),
        radios: &Radios,
        ports: (Vec<String>, Vec<String>),
    ) -> Self {
        let has_driver = has_only_radios(scenario, edge, radios);
        let senses = if has_driver { OF_DRIVER } else { senses(scenario, edge) };
        Self { role: Role::Edge, address, ports, senses, has_driver }
    }

    /// On the Wi-Fi adapter of a client.
    pub(super) fn on_adapter(scenario: &Scenario, site: &Site, radio: Radio) -> Self {
        let ports = (vec![CABLE.to_owned()], vec![radio.device()]);
        let address = site.address(radio.node);
        Self { role: scenario.role(radio.node), address, ports, senses: OF_DRIVER, has_driver: true }
    }

    const fn surroundings(&self) -> Surroundings {
        Surroundings { role: self.role, address: self.address, senses: self.senses, is_passive: false }
    }

    /// The configuration of a gateway with schemes here, on the best available backend. `agent`, if given, replaces the
    /// schemes' own.
    pub(super) fn config(
        self,
        stack: &SchemeStack,
        agent: Option<AgentMaker>,
        clock: Clock,
    ) -> Result<Config, TrialError> {
        let rule = RulePlan::new(stack, Selector::default(), self.surroundings());
        let mut rule = rule.map_err(|error| TrialError::Gateway(error.to_string()))?;
        if agent.is_some() {
            rule.agent = agent;
        }
        let config = Config::with_rules(vec![rule]);
        let tx_status = match self.role {
            _ if !self.has_driver || !config.plan.needs().contains(LinkSenses::FRAME_FATE) => TxStatus::Off,
            Role::Edge => TxStatus::Probed,
            // A client has no absent stations to try its driver with.
            _ => TxStatus::Trusted,
        };
        let (core, radio) = self.ports;
        Ok(Config {
            core: Some(core),
            radio: Some(radio),
            role: self.role,
            tx_status,
            // The gateway is part of the test setup, as the emulator is: its lateness delays the whole
            // run. In simulated time it is never late.
            realtime: clock == Clock::Real,
            ..config
        })
    }
}

/// Starts a gateway on a host.
pub(super) fn start(config: Config, host: &Namespace) -> Result<Gateway, TrialError> {
    Ok(Start { config, file: None, owns_process: false }.inside(host)?)
}

/// Checks that a gateway at this edge could run every scheme.
pub(super) fn check(scenario: &Scenario, edge: usize) -> Result<(), TrialError> {
    // Any address serves.
    let surroundings = Surroundings { address: Ipv4Addr::LOCALHOST.into(), ..senses(scenario, edge).into() };
    for scheme in &scenario.schemes {
        let Some(stack) = scheme.stack() else { continue };
        RulePlan::new(stack, Selector::default(), surroundings)
            .map_err(|error| TrialError::Gateway(format!("{:?}: {}", scheme.label, refusal(&error))))?;
    }
    Ok(())
}

/// Checks that gateways at this edge and on adapters could run every scheme in simulated time, where only the drivers of
/// these radios report on frames. `series_of` is that of a node's kernel, if it is known.
pub(super) fn check_in_simulated_time(
    scenario: &Scenario,
    edge: usize,
    radios: &Radios,
    series_of: impl Fn(usize) -> Option<[u16; 2]>,
) -> Result<(), TrialError> {
    let is_too_old = |node: usize| series_of(node).filter(|series| *series < FIRST_WITH_QUEUES);
    let at_edge = if has_only_radios(scenario, edge, radios) { OF_DRIVER } else { LinkSenses::empty() };
    let on_adapters = radios.of_hosts().iter().filter(|radio| radio.on_adapter);
    let places: Vec<(usize, LinkSenses)> =
        [(edge, at_edge)].into_iter().chain(on_adapters.map(|radio| (radio.node, OF_DRIVER))).collect();
    for scheme in &scenario.schemes {
        let Some(stack) = scheme.stack() else { continue };
        for (node, senses) in places.iter().filter(|(node, _)| has_agent(scenario, stack, *node)) {
            let (role, address) = (scenario.role(*node), Ipv4Addr::LOCALHOST.into());
            let surroundings = Surroundings { role, senses: *senses, address, is_passive: false };
            let plan = RulePlan::new(stack, Selector::default(), surroundings).map_err(|error| {
                let problem = format!(
                    "{:?}: {error}; in simulated time a gateway learns of frames only whether the kernel's Wi-Fi has delivered them: \
                     leave the scheme out (--schemes), or use --wifi kernel or --time real",
                    scheme.label
                );
                TrialError::unsuitable("schemes", problem)
            })?;
            if let Some([major, minor]) = is_too_old(*node)
                .filter(|_| plan.agent.as_ref().is_some_and(|make| make().needs().contains(OF_DRIVER)))
            {
                let problem = format!(
                    "{:?} needs the TX status of frames, and before Linux 6.2 (here {major}.{minor}) the driver of radios does \
                     not use the queues of mac80211: leave the scheme out (--schemes), or use another kernel or --wifi model",
                    scheme.label
                );
                return Err(TrialError::unsuitable("schemes", problem));
            }
        }
    }
    Ok(())
}

/// The first series whose `mac80211_hwsim` uses the queues of mac80211, without which frames with TX status would overtake
/// others in a queueing discipline.
const FIRST_WITH_QUEUES: [u16; 2] = [6, 2];
/// What a Wi-Fi driver reports of frames.
const OF_DRIVER: LinkSenses = LinkSenses::FRAME_FATE;

/// Whether an edge has wireless links, and all of them lead through radios of its kernel. Where clients roam, drivers are
/// not asked.
fn has_only_radios(scenario: &Scenario, edge: usize, radios: &Radios) -> bool {
    if scenario.roams(edge) {
        return false;
    }
    let wireless = ends(scenario, radios)
        .map(|end| (end.node, &scenario.links[end.link]))
        .filter(|(node, link)| *node == edge && link.link.is_wireless());
    let mut of_radios = wireless.map(|(node, link)| radios.of(link, node).is_some()).peekable();
    of_radios.peek().is_some() && of_radios.all(|of_radio| of_radio)
}

/// The reason for which a scheme cannot run here, and the remedy.
fn refusal(error: &RuleError) -> String {
    let (why, settings) = match &error.problem {
        RuleProblem::NothingHere { .. } => ("", 0),
        RuleProblem::Blind { missing, settings } if (*missing - LinkReporter::SENSES).is_empty() => (
            ", which its link layer does not report (this requires one that confirms delivery)",
            settings.len(),
        ),
        RuleProblem::Blind { settings, .. } => {
            (", which only simulated nodes have (`lasthop compare`)", settings.len())
        }
    };
    let what = match settings {
        0 => "the scheme",
        1 => "this setting",
        _ => "these settings",
    };
    format!("{error}{why}; leave {what} out, or choose other schemes with --schemes")
}

/// The link events at the edge: those that all of its wireless links report and that the daemon can
/// receive; none at an access point whose clients roam, as at one whose driver does not report any.
fn senses(scenario: &Scenario, edge: usize) -> LinkSenses {
    if scenario.roams(edge) {
        return LinkSenses::empty();
    }
    let offered = |end: End| scenario.links[end.link].link.is_wireless().then(|| scenario.senses(end.link));
    let offered = ends(scenario, &NO_RADIOS).filter(|end| end.node == edge).filter_map(offered);
    offered.fold(LinkReporter::SENSES, LinkSenses::intersection)
}

/// The nodes of the model that transmit for the edge on its wireless links, with these links.
pub(super) fn transmitters(scenario: &Scenario, edge: usize, built: &BuiltLinks) -> Vec<(NodeId, LinkId)> {
    let of_edge = ends(scenario, &NO_RADIOS)
        .filter(|end| end.node == edge && scenario.links[end.link].link.is_wireless());
    let transmitter = |end: End| {
        let (first, second) = built.transmitters[end.link];
        (if end.place == 0 { first } else { second }, built.links[end.link])
    };
    of_edge.map(transmitter).collect()
}

/// Reports to the gateway the fates of the frames that these [`transmitters`] send. An
/// access point does not know the fates of the clients' own frames.
pub(super) fn report_fates(
    gateway: &Gateway,
    emulator: &mut Emulator,
    transmitters: Vec<(NodeId, LinkId)>,
) -> Result<(), TrialError> {
    let reporter = gateway.link_layer(FATES)?;
    emulator.on_fates(move |fate| {
        if transmitters.contains(&(fate.from, fate.link)) {
            reporter.report(&fate.event);
        }
    });
    Ok(())
}
