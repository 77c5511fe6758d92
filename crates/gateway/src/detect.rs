//! Detection of the interfaces that the file does not name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use thiserror::Error;

/// Why interfaces could not be detected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DetectError {
    /// No interface is wireless.
    #[error(
        "no wireless interface found (interfaces: {found}); name the radio side in the configuration file: [ports] radio = [\"wlan0\"]"
    )]
    NoRadio {
        /// The interfaces there are.
        found: String,
    },
    /// It is unknown which interfaces are wireless.
    #[error(
        "which interface is wireless is not known, because /sys shows another network namespace (interfaces here: {found}); \
         name the radio side in the configuration file: [ports] radio = [\"wlan0\"]"
    )]
    OtherNamespace {
        /// The interfaces there are.
        found: String,
    },
    /// No interface leads to the wired network.
    #[error(
        "no wired interface with a default route found (interfaces: {found}); with the backend tun, name it in the configuration file: \
         [ports] core = [\"eth0\"]"
    )]
    NoCore {
        /// The interfaces there are.
        found: String,
    },
}

/// The directories from which interfaces are detected.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    /// `/sys/class/net`.
    pub sys: &'a Path,
    /// `/proc/net`: always that of the process's own network namespace.
    pub proc: &'a Path,
}

impl Kernel<'_> {
    /// Whether `sys` shows the interfaces of this network namespace. It shows those of the
    /// namespace in which it was mounted, which differs from that of `proc` after `unshare -n`.
    pub fn is_whole(&self) -> bool {
        let Some(ours) = self.devices() else { return true };
        let shown = names(self.sys).into_iter().filter(|name| self.sys.join(name).is_dir());
        shown.collect::<BTreeSet<_>>() == ours
    }

    /// Whether this interface is known to be a bridge.
    pub fn is_bridge(&self, name: &str) -> bool {
        self.is_whole() && self.sys.join(name).join("brif").is_dir()
    }

    /// Whether a default route uses this interface.
    pub fn has_default_route(&self, name: &str) -> bool {
        default_routes(self.proc).contains(name)
    }

    /// The interfaces to the wireless hop.
    pub fn radio(&self) -> Result<Vec<String>, DetectError> {
        let radio: Vec<String> = names(self.sys).into_iter().filter(|name| self.is_wireless(name)).collect();
        match radio.is_empty() {
            true if self.is_whole() => Err(DetectError::NoRadio { found: self.shown() }),
            true => Err(DetectError::OtherNamespace { found: self.shown() }),
            false => Ok(radio),
        }
    }

    /// The interfaces to the wired network, except for those in `radio`.
    pub fn core(&self, radio: &[String]) -> Result<Vec<String>, DetectError> {
        let mut core = BTreeSet::new();
        for name in default_routes(self.proc) {
            let members =
                if self.is_bridge(&name) { names(&self.sys.join(&name).join("brif")) } else { Vec::new() };
            // Frames are taken at ingress: at a bridge's members, not at the bridge.
            core.extend(if members.is_empty() { vec![name] } else { members });
        }
        core.retain(|name| !radio.contains(name) && !self.is_wireless(name));
        if core.is_empty() {
            return Err(DetectError::NoCore { found: self.shown() });
        }
        Ok(core.into_iter().collect())
    }

    /// Whether this interface is known to be wireless.
    pub fn is_wireless(&self, name: &str) -> bool {
        self.is_whole() && ["wireless", "phy80211"].iter().any(|sign| self.sys.join(name).join(sign).exists())
    }

    /// The interfaces of this network namespace; `None` if they are unknown.
    fn devices(&self) -> Option<BTreeSet<String>> {
        let table = fs::read_to_string(self.proc.join("dev")).ok()?;
        // The header has no colon.
        Some(table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect())
    }

    fn shown(&self) -> String {
        let all = self.devices().map_or_else(|| names(self.sys), |devices| devices.into_iter().collect());
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    }
}

/// The sorted names in a directory; none if it does not exist.
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
        // Unreachable default routes use the loopback device.
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

        fn radio(&self) -> Result<Vec<String>, DetectError> {
            Kernel { sys: &self.0.path().join("sys"), proc: &self.0.path().join("proc") }.radio()
        }

        fn core(&self, radio: &[&str]) -> Result<Vec<String>, DetectError> {
            Kernel { sys: &self.0.path().join("sys"), proc: &self.0.path().join("proc") }.core(&own(radio))
        }
    }

    fn own(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn wireless_interfaces_are_radio_and_those_with_a_default_route_are_core() {
        let machine = Machine::new(&["lo", "eth0", "eth1", "wlan0/wireless", "wlan1/phy80211"]);
        machine.with("route", "eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
        machine.with("route", "eth1\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
        assert_eq!(machine.radio(), Ok(own(&["wlan0", "wlan1"])));
        assert_eq!(machine.core(&["wlan0", "wlan1"]), Ok(own(&["eth0"])));
        assert_eq!(machine.core(&["wlan1"]), Ok(own(&["eth0"])));
    }

    #[test]
    fn an_interface_with_members_is_a_bridge() {
        let machine = Machine::new(&["br-lan/brif/eth0", "eth0"]);
        let kernel = Kernel { sys: &machine.0.path().join("sys"), proc: machine.0.path() };
        assert_eq!(["br-lan", "eth0"].map(|name| kernel.is_bridge(name)), [true, false]);
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
        assert_eq!(machine.core(&["wlan0"]), Ok(own(&["eth0"])));
    }

    #[test]
    fn interfaces_of_another_network_namespace_in_sys_are_not_used() {
        let machine = Machine::new(&["lo", "wlan0/wireless", "br-lan/brif/eth0"]);
        machine.with("dev", "Inter-|   Receive\n face |bytes\n    lo: 0 0\n  wlan0: 0 0\nbr-lan: 0 0\n");
        fs::write(machine.0.path().join("sys/bonding_masters"), "").expect("a file");
        assert_eq!(machine.radio(), Ok(own(&["wlan0"])));
        machine.with("dev", "  eth1: 0 0\n");
        let error = machine.radio().expect_err("it may be another wlan0").to_string();
        assert!(
            error.contains("another network namespace (interfaces here: br-lan, eth1, lo, wlan0)"),
            "{error}"
        );
        machine.with("route", "br-lan\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
        assert_eq!(machine.core(&["wlan0"]), Ok(own(&["br-lan"])), "whose members are not known");
    }

    #[test]
    fn an_error_names_the_key_to_set() {
        let machine = Machine::new(&["eth0", "lo"]);
        let error = machine.radio().expect_err("nothing is wireless").to_string();
        assert!(error.contains("interfaces: eth0, lo") && error.contains("radio = [\"wlan0\"]"), "{error}");
        let error = machine.core(&["eth0"]).expect_err("no route").to_string();
        assert!(error.contains("core = [\"eth0\"]"), "{error}");
    }
}
