//! `lasthop gateway --check`.

use std::path::Path;

use anyhow::anyhow;
use lasthop_config::text::name_of;
use lasthop_gateway::check::{Finding, Grade, MachineCheck, machine};
use lasthop_gateway::config::Config;
use serde_json::json;

use super::lines::line;
use crate::failure::Failure;
use crate::output;

/// Checks this machine for a valid configuration, and prints the findings. Fails if a problem was
/// found, which means that a start would fail here.
pub fn execute(config: &Config, file: &Path, is_json: bool) -> Result<(), Failure> {
    let check = machine(config);
    let name = name_of(file);
    if is_json {
        let mut document = json!({ "file": name });
        let found = serde_json::to_value(&check).map_err(|error| Failure::Run(error.into()))?;
        if let (Some(document), Some(found)) = (document.as_object_mut(), found.as_object()) {
            document.extend(found.clone());
        }
        output::print_json(&document)?;
    } else {
        output::print(&report(&check, &name))?;
    }
    let problems = count(&check, Grade::Problem);
    match problems {
        0 => Ok(()),
        1 => Err(Failure::Run(anyhow!("a start on this machine would fail: 1 problem"))),
        _ => Err(Failure::Run(anyhow!("a start on this machine would fail: {problems} problems"))),
    }
}

/// The findings, each on a line, and the conclusion.
fn report(check: &MachineCheck, file: &str) -> String {
    let file_is_right = Finding {
        check: "file".to_owned(),
        grade: Grade::Ok,
        finding: format!("{file} is valid"),
        advice: None,
    };
    let findings: Vec<&Finding> = std::iter::once(&file_is_right).chain(&check.checks).collect();
    let longest = findings.iter().map(|finding| finding.check.chars().count()).max().unwrap_or(0);
    let mut lines: Vec<String> = findings.iter().map(|finding| line_of(finding, longest)).collect();
    if check.could_start != Some(false) {
        lines.push(line("", &conclusion(check)));
    }
    lines.join("\n")
}

fn line_of(finding: &Finding, longest: usize) -> String {
    let Finding { check, grade, finding, advice } = finding;
    let grade = match grade {
        Grade::Ok => "ok",
        Grade::Warning => "warning",
        Grade::Problem => "problem",
        Grade::Skipped => "skipped",
    };
    let label = format!("{grade:<8} {check:<longest$}  ");
    let advice = advice.iter().map(|advice| format!(". To do: {advice}"));
    let sentences: Vec<String> = std::iter::once(finding.clone()).chain(advice).collect();
    line(&label, &sentences.concat())
}

/// The expected result of a start, if no check found a problem.
fn conclusion(check: &MachineCheck) -> String {
    let (warnings, skipped) = (count(check, Grade::Warning), count(check, Grade::Skipped));
    let found = match warnings {
        0 => "no problem".to_owned(),
        1 => "no problem, 1 warning".to_owned(),
        _ => format!("no problem, {warnings} warnings"),
    };
    let radio = check.radio.join(", ");
    let with = check.backend.map_or_else(|| format!("on {radio}"), |name| format!("with {name} on {radio}"));
    match skipped {
        0 => format!("{found}: a gateway can start here, {with}"),
        1 => format!("{found}: a gateway may be able to start here, {with}; 1 check could not be made"),
        _ => format!(
            "{found}: a gateway may be able to start here, {with}; {skipped} checks could not be made"
        ),
    }
}

fn count(check: &MachineCheck, grade: Grade) -> usize {
    check.checks.iter().filter(|finding| finding.grade == grade).count()
}
