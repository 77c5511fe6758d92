//! The part of a run that the hosts have: gateways at the edges, and the flows and sessions of the case.
//! It does not know what is between the hosts, nor whose time their clock shows.

use std::sync::atomic::Ordering;
use std::thread;

use lasthop_gateway::plan::AgentMaker;
use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_scenario::Scenario;

use super::bridged::Lan;
use super::error::TrialError;
use super::flows::{self, AllOver, Listening, RunPart};
use super::gateway::Clock;
use super::gateways::{Gateways, Reports};
use super::options::Options;
use super::parts::HostPart;
use super::plan::{Case, edges};
use super::program::Running;
use super::site::{self, Site};
use super::wait;

/// The hosts of a run, with what runs at their edges. It ends when this value is dropped.
pub(super) struct Hosts<'a> {
    scenario: &'a Scenario,
    case: &'a Case,
    site: &'a Site,
    gateways: Gateways,
    listening: Listening,
    /// Until the end of the run.
    _program: Option<Running>,
}

impl<'a> Hosts<'a> {
    /// Starts the gateways, or the program in their place, on hosts that are configured. `agent`, if given, replaces
    /// the schemes' own.
    pub(super) fn start(
        scenario: &'a Scenario,
        case: &'a Case,
        site: &'a Site,
        agent: Option<&AgentMaker>,
        clock: Clock,
        options: Options<'_>,
    ) -> Result<Self, TrialError> {
        let program = options.program(case).map(|program| {
            if Lan::of(scenario).is_some() {
                let problem = "a program does not learn where clients roam; leave it out";
                return Err(TrialError::unsuitable("--beside", problem));
            }
            let edge = edges(scenario)?[0];
            let (core, radio) = site::ports(scenario, site.radios(), edge);
            program
                .start(&site.hosts[edge], &core, &radio)
                .map_err(|error| TrialError::Program { path: program.path.clone(), error })
        });
        let program = program.transpose()?;
        let gateways = match scenario.schemes[case.scheme_index].stack() {
            Some(stack) if program.is_none() && !stack.is_nothing() => {
                Gateways::start(scenario, site, stack, agent, clock)?
            }
            _ => Gateways::none(),
        };
        let listening = Listening::open(scenario, case, site)?;
        Ok(Self { scenario, case, site, gateways, listening, _program: program })
    }

    /// The gateways.
    pub(super) const fn gateways(&mut self) -> &mut Gateways {
        &mut self.gateways
    }

    /// Runs the flows and sessions, and kills the gateways meanwhile if the scenario says so.
    fn run_flows(
        &self,
        zero: Instant,
        all_over: AllOver<'_>,
        options: Options<'_>,
    ) -> Result<RunPart, TrialError> {
        let of_case = (self.scenario, self.case);
        let run = || flows::run_all(of_case, self.site, &self.listening, (zero, all_over), options);
        let Some(crash) = self.scenario.trial.gateway_crash else { return run() };
        let doomed = self.gateways.processes();
        thread::scope(|scope| {
            let killing = scope.spawn(|| {
                wait::until(zero + crash, options.stop);
                doomed.iter().try_for_each(|gateway| gateway.kill())
            });
            let results = run();
            killing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            results
        })
    }

    /// Runs the flows and sessions, from the time `zero` at which the model starts, until those of all hosts are over.
    pub(super) fn run(
        &self,
        zero: Instant,
        all_over: AllOver<'_>,
        options: Options<'_>,
    ) -> Result<HostPart, TrialError> {
        let cpu_s = |reports: &Reports| reports.all().map(|report| report.cpu_s).sum::<f64>();
        let busy_before = cpu_s(&self.gateways.reports()?);
        wait::until(zero + self.case.times(self.scenario).first, options.stop);
        let began = clock::now();
        let run = self.run_flows(zero, all_over, options)?;
        if options.stop.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        let took = clock::now().since(began).as_secs_f64();
        let gateways = self.gateways.reports()?;
        let gateway_cores =
            gateways.all().next().is_some().then(|| (cpu_s(&gateways) - busy_before) / took.max(1e-9));
        Ok(HostPart { run, gateways, gateway_cores, hand_offs: None })
    }
}
