//! The document of a scenario or of a sweep, before its tables are read.

use lasthop_config::{Document, FileError};

/// Parses a scenario or a sweep, which is never empty; `name` is what errors call it.
pub(super) fn parse(text: &str, name: String) -> Result<Document<'_>, FileError> {
    if text.trim().is_empty() {
        let problem = "the file is empty; expected a scenario, with nodes, links and flows, or a sweep";
        return Err(FileError::of_file(name, problem));
    }
    Document::parse(text, name, "a scenario or a sweep, in TOML")
}

/// What is wrong with setting the key at this path from outside, if it is in a node, link, cell or
/// flow that the scenario does not have. A session may be added.
pub(super) fn names_nothing(scenario: &Document<'_>, path: &[&str]) -> Option<String> {
    match *path {
        [kind @ ("nodes" | "links" | "wlans" | "flows"), name, ..] if !scenario.has(&[kind, name]) => {
            let known: Vec<&str> = scenario.keys(&[kind]).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Some(format!("unknown name {name:?} in {kind}; expected one of: {known}"))
        }
        _ => None,
    }
}
