//! What a check found.

use serde::Serialize;

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
    /// Nothing is known to prevent a start, but part of the traffic may not be accelerated, part of
    /// the file has no effect, or a limit is lower than it should be.
    Warning,
    /// A start fails.
    Problem,
    /// It could not be checked.
    Skipped,
}

/// What the checks so far have found.
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    /// A finding after which there is nothing to do.
    pub(super) fn add(&mut self, check: impl Into<String>, grade: Grade, finding: impl Into<String>) {
        let (check, finding) = (check.into(), finding.into());
        self.0.push(Finding { check, grade, finding, advice: None });
    }

    /// A finding and what to do.
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
