//! The document of a scenario or of a sweep, before its tables are read.

use lasthop_config::words::did_you_mean;
use lasthop_config::{Document, FileError};

/// Parses a scenario or a sweep, which must not be empty; `name` is its name in errors.
pub(super) fn parse(text: &str, name: String) -> Result<Document<'_>, FileError> {
    if text.trim().is_empty() {
        let problem = "the file is empty; expected a scenario, with nodes, links and flows, or a sweep";
        return Err(FileError::in_file(name, problem));
    }
    Document::parse(text, name, "a scenario or a sweep, in TOML")
}

/// The path of a key such as `links."air".loss`.
pub(super) fn path(key: &str) -> Vec<&str> {
    key.split('.').map(|step| step.trim().trim_matches('"')).collect()
}

/// The problem with setting a key of a node, link, cell or flow that the scenario does not have. A
/// session may be added.
pub(super) fn names_nothing(scenario: &Document<'_>, path: &[&str]) -> Option<String> {
    match *path {
        [kind @ ("nodes" | "links" | "wlans" | "flows"), name, ..] if !scenario.has(&[kind, name]) => {
            let known: Vec<&str> = scenario.keys(&[kind]).collect();
            let meant = did_you_mean(name, &known);
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Some(format!("unknown name {name:?} in {kind}{meant}; expected one of: {known}"))
        }
        _ => None,
    }
}
