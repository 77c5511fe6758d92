//! The findings of checks.

use serde::Serialize;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The subject of the check, such as `privileges` or `wlan0`.
    pub check: String,
    /// The severity.
    pub grade: Grade,
    /// The result and its meaning.
    pub finding: String,
    /// The advice to the operator, if any.
    pub advice: Option<String>,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// No fault.
    Ok,
    /// A start is possible, but part of the traffic may not be accelerated, part of the file has no
    /// effect, or a limit is too low.
    Warning,
    /// A start fails.
    Problem,
    /// The check could not be made.
    Skipped,
}

/// The findings of the checks so far.
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    /// Adds a finding without advice.
    pub(super) fn add(&mut self, check: impl Into<String>, grade: Grade, finding: impl Into<String>) {
        let (check, finding) = (check.into(), finding.into());
        self.0.push(Finding { check, grade, finding, advice: None });
    }

    /// Adds a finding with advice.
    pub(super) fn advise(
        &mut self,
        check: &str,
        grade: Grade,
        finding: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.add(check, grade, finding);
        if let Some(last) = self.0.last_mut() {
            last.advice = Some(advice.into());
        }
    }
}
