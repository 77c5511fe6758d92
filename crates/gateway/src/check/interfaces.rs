//! Checks of the interfaces: whether they exist and are up, and whether their side is plausible.

use lasthop_config::words::without_error_numbers;
use rustix::io::Errno;

use super::finding::{Findings, Grade};
use crate::detect::DetectError;
use crate::ports;
use lasthop_linux::device::Interface;

/// The two sides of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Core,
    Radio,
}

/// Checks the interfaces that the file names for a side, or otherwise the detected ones. Returns
/// those that a start would use.
pub(super) fn of_side(
    side: Side,
    named: Option<&Vec<String>>,
    find: impl FnOnce() -> Result<Vec<String>, DetectError>,
    found: &mut Findings,
) -> Vec<String> {
    let key = match side {
        Side::Core => "core",
        Side::Radio => "radio",
    };
    let names = match named {
        Some(names) => names.clone(),
        None => match find() {
            Ok(names) => names,
            Err(error) => {
                found.add(key, Grade::Problem, error.to_string());
                return Vec::new();
            }
        },
    };
    for name in &names {
        check(side, (key, named.is_some()), name, found);
    }
    names
}

/// Checks an interface that the file names, if `is_named`, or that was detected.
fn check(side: Side, (key, is_named): (&str, bool), name: &str, found: &mut Findings) {
    let is_up = match Interface::named(name).and_then(|interface| interface.is_up()) {
        Ok(is_up) => is_up,
        Err(error) => {
            let is_missing = Errno::from_io_error(&error) == Some(Errno::NODEV);
            let why = without_error_numbers(&error.to_string());
            let finding = match (is_named, is_missing) {
                (true, true) => format!("[ports] {key} names it, but there is no such interface"),
                (true, false) => format!("[ports] {key} names it, but it cannot be used: {why}"),
                // This includes an interface that has vanished since.
                (false, _) => format!("detected as a {key} interface, but it cannot be used: {why}"),
            };
            found.advise(name, Grade::Problem, finding, "`ip -brief link` lists the interfaces");
            return;
        }
    };
    if !is_up {
        let finding = format!("the {key} interface is down: no traffic passes it");
        found.advise(name, Grade::Warning, finding, format!("`ip link set {name} up`"));
        return;
    }
    let kernel = ports::kernel();
    match (side, kernel.is_wireless(name), kernel.has_default_route(name)) {
        _ if name == "lo" => found.advise(
            name,
            Grade::Warning,
            format!("the loopback interface as a {key} interface: no forwarded traffic passes it"),
            format!("name the interface of the {key} side in [ports]"),
        ),
        (Side::Radio, false, true) => found.advise(
            name,
            Grade::Warning,
            "up, but the default route leads out by this radio interface: it may be the wired side",
            "check [ports] radio: it names the interfaces to the clients",
        ),
        (Side::Core, true, _) => found.advise(
            name,
            Grade::Warning,
            "up, but this core interface is wireless: it may be the side of the clients",
            "check [ports] core: it names the interfaces to the wired network",
        ),
        (Side::Radio, true, _) => found.add(name, Grade::Ok, "radio, wireless, up"),
        (Side::Radio, false, false) if !kernel.is_whole() => {
            let unknown =
                "radio, up; whether it is wireless is not known: /sys shows another network namespace";
            found.add(name, Grade::Ok, unknown);
        }
        (Side::Radio, false, false) => {
            found.add(name, Grade::Ok, "radio, up; not wireless itself, so the hop has to be behind it");
        }
        (Side::Core, false, _) => found.add(name, Grade::Ok, "core, up"),
    }
}
