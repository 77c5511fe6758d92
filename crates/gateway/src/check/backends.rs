//! Checks of the backends: which ones work on this machine, by trial, and which one a start would
//! use.

use super::finding::{Findings, Grade};
use super::rights::{Rights, UNKNOWN};
use crate::backend_choice::Choice;
use crate::config::{Backend, Config};
use crate::io::policy::{Policy, RULES};
use crate::ports;
use crate::translation::{self, Translation};
use lasthop_linux::device::Interface;

/// Checks the backends. Returns the one that a start would use, if there is one.
pub(super) fn check(
    rights: Rights,
    config: &Config,
    radio: &[String],
    found: &mut Findings,
) -> Option<Backend> {
    if !rights.may_look() {
        for name in ["tc-bpf", "tun", "translation"] {
            found.add(name, Grade::Skipped, UNKNOWN);
        }
        // A backend set in the file is the one that a start would use, if it starts at all.
        return Some(config.backend).filter(|backend| *backend != Backend::Auto);
    }
    // Missing interfaces have findings of their own.
    let existing: Vec<String> = radio.iter().filter(|name| Interface::named(name).is_ok()).cloned().collect();
    let by_tc = ports::try_tc(&existing);
    let tc = by_tc.as_ref().err().map(ToString::to_string);
    let tun = Policy::try_out().err().map(|error| error.to_string());
    let choice = ports::choice(config, radio, || by_tc);
    let chosen = choice.as_ref().ok().map(|choice| choice.backend);
    let backends = (config.backend, chosen);
    report(
        "tc-bpf",
        tc.as_deref(),
        "a frame was diverted to this process and returned to the kernel",
        backends,
        found,
    );
    report("tun", tun.as_deref(), "TUN devices, `ip` and policy routing are there", backends, found);
    match choice {
        Ok(Choice { backend, notes }) => {
            found.add("backend", Grade::Ok, format!("a start uses {}", backend.name()));
            for note in notes {
                found.add("backend", Grade::Warning, note);
            }
        }
        // The finding for tc-bpf has the same text.
        Err(why) if tc.as_ref() == Some(&why) => {}
        Err(why) => found.add("backend", Grade::Problem, why),
    }
    report_translation(chosen, found);
    chosen
}

/// Checks whether the backend tun has room for the rules of the file's selection.
pub(super) fn check_rules(config: &Config, ports: &[String], found: &mut Findings) {
    match Policy::rules_needed(ports, &config.plan.selection(config.threads)) {
        Ok(count) => {
            found.add("rules", Grade::Ok, format!("tun needs {count} of its {RULES} policy routing rules"));
        }
        Err(error) => found.add("rules", Grade::Problem, error.to_string()),
    }
}

/// Reports whether a backend works, and if not, whether a start needs it. The last pair is the
/// backend set in the file and the one that a start would use.
fn report(
    name: &str,
    missing: Option<&str>,
    works: &str,
    (set, chosen): (Backend, Option<Backend>),
    found: &mut Findings,
) {
    let is_chosen = chosen.map(Backend::name) == Some(name);
    match missing {
        None => found.add(name, Grade::Ok, format!("works: {works}")),
        Some(why) if is_chosen || (chosen.is_none() && name == Backend::TcBpf.name()) => {
            found.add(name, Grade::Problem, why);
        }
        Some(why) if name == Backend::TcBpf.name() && set == Backend::Auto => {
            found.add(name, Grade::Warning, why);
        }
        Some(why) => found.add(name, Grade::Ok, format!("not available, and not needed: {why}")),
    }
}

fn report_translation(chosen: Option<Backend>, found: &mut Findings) {
    let name = "translation";
    match (translation::detect(ports::kernel().proc), chosen) {
        (Translation::None, _) => found.add(name, Grade::Ok, "no address translation is set up"),
        (Translation::Found(place), Some(Backend::TcBpf)) => {
            found.add(name, Grade::Ok, format!("{place} translates addresses; tc-bpf works with it"));
        }
        // A note on the backend, or the reason against a start, reports it.
        (Translation::Found(_), _) => {}
        (Translation::Unknown(why), _) => {
            found.add(
                name,
                Grade::Skipped,
                format!("it is not known whether addresses are translated: {why}"),
            );
        }
    }
}
