//! The gateway of a trial: the daemon's own packet loop, in the edge's namespace.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use lasthop_agent::{LinkSenses, Side};
use lasthop_scenario::{Link, Scenario};

use super::TrialError;
use super::site::{Site, device_name, ends};
use crate::gateway::config;
use crate::gateway::notify::Notifier;
use crate::gateway::packet_loop::{LoopReport, PacketLoop, Request};
use crate::gateway::plan::Plan;
use crate::io::divert::Divert;
use crate::io::policy::Policy;
use crate::io::selection::Selection;
use crate::io::{PacketIo, Port};
use crate::namespace::Namespace;

/// A gateway at work. It drains and ends when this value does.
pub(super) struct Attached {
    requests: Sender<Request>,
    thread: Option<JoinHandle<Result<LoopReport, TrialError>>>,
}

impl Attached {
    /// Starts a gateway with one scheme at the edge of a site, on the best backend that there is.
    pub(super) fn start(
        scenario: &Scenario,
        edge: usize,
        site: &Site,
        scheme: &str,
        settings: &toml::Table,
    ) -> Result<Self, TrialError> {
        let plan = plan(scheme, settings)?;
        let ports = ports(scenario, edge);
        let host = site.hosts[edge].try_clone().map_err(TrialError::Namespace)?;
        let (requests, orders) = channel();
        let (ready, started) = channel();
        let thread = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || {
            let mut io = open(&host, ports)?;
            // Whoever started us waits for it.
            let _ = ready.send(());
            let (report, outcome) = PacketLoop::new(io.as_mut(), &plan, orders, Notifier::default()).run();
            outcome.map(|()| report).map_err(failed)
        });
        let mut attached = Self { requests, thread: Some(thread.map_err(failed)?) };
        match started.recv() {
            Ok(()) => Ok(attached),
            Err(_) => {
                Err(attached.end().err().unwrap_or_else(|| failed(io::Error::other("it did not start"))))
            }
        }
    }

    /// Processor time that its loop has used.
    pub(super) fn busy(&self) -> Duration {
        let (answer, answers) = channel();
        let asked = self.requests.send(Request::Report(answer)).is_ok();
        let report = asked.then(|| answers.recv().ok()).flatten();
        report.map_or(Duration::ZERO, |report| Duration::from_secs_f64(report.cpu_s))
    }

    /// Stops it; what it did.
    pub(super) fn stop(mut self) -> Result<LoopReport, TrialError> {
        self.end()
    }

    fn end(&mut self) -> Result<LoopReport, TrialError> {
        // It may have ended of its own accord.
        let _ = self.requests.send(Request::Stop);
        let Some(thread) = self.thread.take() else { return Ok(LoopReport::default()) };
        thread.join().unwrap_or_else(|_| Err(failed(io::Error::other("it panicked"))))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Whoever wants to know how it went has stopped it.
        let _ = self.end();
    }
}

fn failed(error: impl ToString) -> TrialError {
    TrialError::Gateway(error.to_string())
}

/// A plan with one rule, as the daemon would read it from a file.
fn plan(scheme: &str, settings: &toml::Table) -> Result<Plan, TrialError> {
    let mut rule = toml::Table::new();
    rule.insert("scheme".to_owned(), scheme.into());
    rule.insert("settings".to_owned(), settings.clone().into());
    let mut file = toml::Table::new();
    file.insert("rule".to_owned(), toml::Value::Array(vec![rule.into()]));
    let config = config::parse(&file.to_string(), "the scenario's scheme", LinkSenses::empty());
    config.map(|config| config.plan).map_err(failed)
}

/// The edge's interfaces: the wireless ones are radio.
fn ports(scenario: &Scenario, edge: usize) -> Vec<Port> {
    ends(scenario)
        .filter(|end| end.node == edge)
        .map(|end| {
            let link = &scenario.links[end.link];
            let side = match link.link {
                Link::Wireless { .. } => Side::Radio,
                Link::Wired(_) => Side::Core,
            };
            Port { name: device_name(link, end.link), side, ethernet: true }
        })
        .collect()
}

fn open(host: &Namespace, ports: Vec<Port>) -> Result<Box<dyn PacketIo>, TrialError> {
    host.move_into().map_err(TrialError::Namespace)?;
    let everything = Selection::default();
    match Divert::open(ports.clone(), &everything) {
        Ok(divert) => Ok(Box::new(divert)),
        Err(reason) => match Policy::open(ports, &everything) {
            Ok(policy) => {
                tracing::warn!("the gateway runs on policy routing, because {reason}");
                Ok(Box::new(policy))
            }
            Err(error) => Err(TrialError::Gateway(format!("{reason}; and {error}"))),
        },
    }
}
