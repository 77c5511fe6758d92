//! Which interfaces are which, where the file does not say.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use thiserror::Error;

/// The interfaces of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interfaces {
    /// To the wired network.
    pub core: Vec<String>,
    /// To the wireless hop.
    pub radio: Vec<String>,
}

/// Why interfaces could not be found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DetectError {
    /// None is wireless.
    #[error(
        "no wireless interface was found (of {found}); name the radio side in the file: [ports] radio = [\"wlan0\"]"
    )]
    NoRadio {
        /// The interfaces there are.
        found: String,
    },
    /// None leads to the wired network.
    #[error(
        "no wired interface with a default route was found (of {found}); name the core side in the file: [ports] core = [\"eth0\"]"
    )]
    NoCore {
        /// The interfaces there are.
        found: String,
    },
}

/// Finds what the file leaves open. `sys` is `/sys/class/net`, `proc` is `/proc/net`.
pub fn detect(
    core: Option<&[String]>,
    radio: Option<&[String]>,
    sys: &Path,
    proc: &Path,
) -> Result<Interfaces, DetectError> {
    let all = names(sys);
    let shown = || if all.is_empty() { "none at all".to_owned() } else { all.join(", ") };
    let radio = match radio {
        Some(named) => named.to_vec(),
        None => all.iter().filter(|name| is_wireless(sys, name)).cloned().collect(),
    };
    if radio.is_empty() {
        return Err(DetectError::NoRadio { found: shown() });
    }
    let core = if let Some(named) = core {
        named.to_vec()
    } else {
        let mut core = BTreeSet::new();
        for name in default_routes(proc) {
            let members = names(&sys.join(&name).join("brif"));
            // Frames are taken where they come in: at a bridge's members, not at the bridge.
            core.extend(if members.is_empty() { vec![name] } else { members });
        }
        core.into_iter().filter(|name| !radio.contains(name) && !is_wireless(sys, name)).collect()
    };
    if core.is_empty() {
        return Err(DetectError::NoCore { found: shown() });
    }
    Ok(Interfaces { core, radio })
}

fn is_wireless(sys: &Path, name: &str) -> bool {
    ["wireless", "phy80211"].iter().any(|sign| sys.join(name).join(sign).exists())
}

/// The names in a directory, in order. A directory that is not there has none.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Interfaces with a default route, of IPv4 (`/proc/net/route`) or IPv6 (`/proc/net/ipv6_route`).
fn default_routes(proc: &Path) -> BTreeSet<String> {
    let lines = |file: &str| fs::read_to_string(proc.join(file)).unwrap_or_default();
    let zeros = |text: &str| !text.is_empty() && text.chars().all(|c| c == '0');
    let mut found = BTreeSet::new();
    for line in lines("route").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [name, destination, _, _, _, _, _, mask, ..] = fields[..]
            && zeros(destination)
            && zeros(mask)
        {
            found.insert(name.to_owned());
        }
    }
    for line in lines("ipv6_route").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Unreachable default routes hang on the loopback device.
        if let [destination, "00", .., name] = fields[..]
            && zeros(destination)
            && name != "lo"
        {
            found.insert(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new(files: &[&str]) -> Self {
            let machine = Self(tempfile::tempdir().expect("a directory"));
            for file in files {
                fs::create_dir_all(machine.0.path().join("sys").join(file)).expect("a directory");
            }
            machine.with("route", "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n");
            machine
        }

        fn with(&self, file: &str, text: &str) {
            let proc = self.0.path().join("proc");
            fs::create_dir_all(&proc).expect("a directory");
            let before = fs::read_to_string(proc.join(file)).unwrap_or_default();
            fs::write(proc.join(file), before + text).expect("a file");
        }

        fn detect(
            &self,
            core: Option<&[String]>,
            radio: Option<&[String]>,
        ) -> Result<Interfaces, DetectError> {
            detect(core, radio, &self.0.path().join("sys"), &self.0.path().join("proc"))
        }
    }

    fn interfaces(core: &[&str], radio: &[&str]) -> Interfaces {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Interfaces { core: own(core), radio: own(radio) }
    }

    #[test]
    fn wireless_ones_are_radio_and_those_with_a_default_route_are_core() {
        let machine = Machine::new(&["lo", "eth0", "eth1", "wlan0/wireless", "wlan1/phy80211"]);
        machine.with("route", "eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
        machine.with("route", "eth1\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
        assert_eq!(machine.detect(None, None), Ok(interfaces(&["eth0"], &["wlan0", "wlan1"])));
        assert_eq!(
            machine.detect(Some(&["eth1".into()]), None),
            Ok(interfaces(&["eth1"], &["wlan0", "wlan1"]))
        );
        assert_eq!(machine.detect(None, Some(&["wlan1".into()])), Ok(interfaces(&["eth0"], &["wlan1"])));
    }

    #[test]
    fn a_bridge_with_the_default_route_stands_for_its_wired_members() {
        let machine = Machine::new(&["br-lan/brif/eth0", "br-lan/brif/wlan0", "eth0", "wlan0/wireless"]);
        machine.with(
            "ipv6_route",
            "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe80 400 1 0 3 br-lan\n",
        );
        machine.with(
            "ipv6_route",
            "00000000000000000000000000000000 00 00000000000000000000000000000000 00 0 ffffffff 1 0 2 lo\n",
        );
        assert_eq!(machine.detect(None, None), Ok(interfaces(&["eth0"], &["wlan0"])));
    }

    #[test]
    fn what_cannot_be_found_is_asked_for() {
        let machine = Machine::new(&["eth0", "lo"]);
        let error = machine.detect(None, None).expect_err("nothing is wireless").to_string();
        assert!(error.contains("of eth0, lo") && error.contains("radio = [\"wlan0\"]"), "{error}");
        let error = machine.detect(None, Some(&["eth0".into()])).expect_err("no route").to_string();
        assert!(error.contains("core = [\"eth0\"]"), "{error}");
    }
}
