//! Whether a gateway with this configuration could start on this machine, and whether traffic would
//! reach it: what `lasthop gateway --check` reports. Looking changes nothing. A problem here is
//! something for which a start is refused; a warning lets it start.

mod backends;
mod bypasses;
mod doors;
mod interfaces;
mod rights;

use serde::Serialize;

use super::config::Config;
use super::ports;
use interfaces::Side;
use rights::Rights;

/// What was found on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineCheck {
    /// Whether no check found a problem. Those that could not be made count as passed.
    pub could_start: bool,
    /// The backend that a start would use; `None` if that is not known, or there would be no start.
    pub backend: Option<&'static str>,
    /// The interfaces to the wireless hop that a start would use.
    pub radio: Vec<String>,
    /// The interfaces to the wired network that it would use: with the backend tun only.
    pub core: Vec<String>,
    /// What each check found, in the order in which to read it.
    pub checks: Vec<Finding>,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked, such as `privileges` or `wlan0`.
    pub check: String,
    /// How serious it is.
    pub grade: Grade,
    /// What was found, and what it means.
    pub finding: String,
    /// What to do; `None` if there is nothing to do.
    pub advice: Option<String>,
}

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// As it should be.
    Ok,
    /// A start succeeds, but part of the traffic may not be accelerated, or part of the file has no
    /// effect.
    Warning,
    /// A start fails.
    Problem,
    /// It could not be checked.
    Skipped,
}

/// The checks of the calling thread's network namespace.
pub fn machine(config: &Config) -> MachineCheck {
    let mut found = Findings(Vec::new());
    for note in config.notes() {
        found.add("file", Grade::Warning, note);
    }
    let rights = Rights::of_this_process();
    rights::check(rights, config, &mut found);
    let radio =
        interfaces::of_side(Side::Radio, config.radio.as_ref(), || ports::kernel().radio(), &mut found);
    let backend = backends::check(rights, config, &radio, &mut found);
    let core = match backend {
        Some(super::config::Backend::Tun) => {
            interfaces::of_side(Side::Core, config.core.as_ref(), || ports::kernel().core(&radio), &mut found)
        }
        _ => Vec::new(),
    };
    bypasses::check(rights, backend, &radio, &mut found);
    let running = doors::other_gateways(config, [&radio[..], &core[..]].concat().as_slice(), &mut found);
    doors::check(rights, config, running, &mut found);
    doors::open_files(config, radio.len(), &mut found);
    let checks = found.0;
    let could_start = checks.iter().all(|finding| finding.grade != Grade::Problem);
    let backend = backend.filter(|_| could_start).map(super::config::Backend::name);
    MachineCheck { could_start, backend, radio, core, checks }
}

/// What the checks so far have found.
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, check: impl Into<String>, grade: Grade, finding: impl Into<String>) {
        let (check, finding) = (check.into(), finding.into());
        self.0.push(Finding { check, grade, finding, advice: None });
    }

    fn advise(&mut self, check: &str, grade: Grade, finding: impl Into<String>, advice: impl Into<String>) {
        self.add(check, grade, finding);
        if let Some(last) = self.0.last_mut() {
            last.advice = Some(advice.into());
        }
    }
}
