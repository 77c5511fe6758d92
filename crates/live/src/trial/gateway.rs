//! The gateway of a trial.

use std::time::Duration;

use lasthop_scenario::Scenario;

use super::TrialError;
use super::site::Site;

pub(super) struct Attached;

impl Attached {
    pub(super) fn busy(&self) -> Duration {
        Duration::ZERO
    }
}

pub(super) fn attach(
    _scenario: &Scenario,
    _edge: usize,
    _site: &Site,
    name: &str,
    _settings: &toml::Table,
) -> Result<Attached, TrialError> {
    Err(TrialError::Gateway(format!("{name} is to come")))
}
