//! The report of `lasthop gateway --check`: whether a gateway with this configuration could start
//! on this machine, and whether traffic would reach it. The checks change nothing. A problem
//! prevents a start; a warning does not.

mod backends;
mod bypasses;
mod finding;
mod gateways;
mod interfaces;
mod listeners;
mod port;
mod rights;
#[cfg(feature = "roaming")]
mod site;
mod tx_status;

use serde::Serialize;

use super::config::{Backend, Config};
use super::ports;
use finding::Findings;
use interfaces::Side;
use rights::Rights;

pub use finding::{Finding, Grade};

/// The results of all checks on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineCheck {
    /// `true` if all checks were made without a problem, `false` if one found a problem; `None` if
    /// none did, but some could not be made.
    pub could_start: Option<bool>,
    /// The backend that a start would use; `None` if it is unknown, or a start would fail.
    pub backend: Option<&'static str>,
    /// The interfaces to the wireless hop that a start would use.
    pub radio: Vec<String>,
    /// The interfaces to the wired network that a start would use; only with the backend tun.
    pub core: Vec<String>,
    /// The findings, in reading order.
    pub checks: Vec<Finding>,
}

/// Checks the calling thread's network namespace.
pub fn machine(config: &Config) -> MachineCheck {
    let mut found = Findings(Vec::new());
    for note in config.notes() {
        found.add("file", Grade::Warning, note);
    }
    let rights = Rights::current();
    rights::check(rights, config, &mut found);
    let radio =
        interfaces::of_side(Side::Radio, config.radio.as_ref(), || ports::kernel().radio(), &mut found);
    let backend = backends::check(rights, config, &radio, &mut found);
    let core = match backend {
        Some(Backend::Tun) => {
            interfaces::of_side(Side::Core, config.core.as_ref(), || ports::kernel().core(&radio), &mut found)
        }
        _ => Vec::new(),
    };
    let all = [&radio[..], &core[..]].concat();
    if backend == Some(Backend::Tun) {
        backends::check_rules(config, &all, &mut found);
    }
    tx_status::check(config, &radio, &mut found);
    bypasses::check(rights, backend, &radio, &mut found);
    let running = gateways::check(config, &all, &mut found);
    listeners::check(rights, config, running, &mut found);
    #[cfg(feature = "roaming")]
    if let Some(site) = &config.roaming {
        site::check(site, running, &mut found);
    }
    listeners::open_files(config, backend, radio.len(), &mut found);
    let checks = found.0;
    let has = |grade| checks.iter().any(|finding| finding.grade == grade);
    let could_start = match (has(Grade::Problem), has(Grade::Skipped)) {
        (true, _) => Some(false),
        (false, true) => None,
        (false, false) => Some(true),
    };
    let backend = backend.filter(|_| could_start != Some(false)).map(Backend::name);
    MachineCheck { could_start, backend, radio, core, checks }
}
