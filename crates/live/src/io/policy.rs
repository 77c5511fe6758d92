//! The TUN backend: rules of policy routing lead the TCP that is wanted into one TUN device a port,
//! and what is written back is routed as ever. It needs no BPF.
//!
//! What it cannot do, and the tc backend can:
//!
//! - **hang**: while the process lives but does nothing, TCP that is led to it is lost. If the
//!   process ends, in whatever way, the devices vanish, the rules lead nowhere, and the kernel
//!   routes on.
//! - **translate addresses**: connection tracking sees each packet twice, on two interfaces, and
//!   masquerading breaks.
//! - **bridge**: only routed traffic meets a rule.
//! - The time to live falls by one more, and traceroute shows one hop more.
//!
//! TCP to and from the gateway itself does not come to us, because the kernel looks at its own
//! addresses first.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use lasthop_packet::Instant;
use rustix::fs::Access;
use thiserror::Error;

use super::claim::{self, ClaimError, Claims};
use super::devices::Devices;
use super::selection::Prefix;
use super::{PacketIo, Port, PortId, Selection, Sent, Wake};
use crate::device::{Device, DeviceError, Interface, Kind};
use crate::frame::Frame;

/// Why packets cannot be led to us.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// A port that is not there, or that another gateway has.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// A TUN device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A setting of it.
    #[error("cannot set {setting} of the device {name}: {error}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// Whose.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// `ip` is not there.
    #[error("cannot run `ip`: {0}; install iproute2 (OpenWrt: ip-full)")]
    Start(#[source] io::Error),
    /// `ip` refused.
    #[error(
        "`ip` failed: {message}, in: {commands}; this requires CAP_NET_ADMIN, CONFIG_IP_MULTIPLE_TABLES and the `ip` of iproute2"
    )]
    Refused {
        /// What it said.
        message: String,
        /// What it was told.
        commands: String,
    },
    /// More rules than there are priorities for.
    #[error(
        "the selection requires {0} rules, but there are priorities for {RULES} only; name fewer ports or prefixes"
    )]
    TooMany(usize),
    /// What we wait with, or a port that has just vanished.
    #[error("cannot wait for frames on a port: {0}")]
    Wait(#[source] io::Error),
}

/// The first priority of ours; rules of ours have no others.
const FIRST_PRIORITY: usize = 26_000;
/// How many priorities are ours.
const RULES: usize = 1000;
/// Each port has a routing table: this number and that of its interface.
const FIRST_TABLE: u32 = 26_000;
/// An address that nobody talks to or from (RFC 7600). A device without any fails each check of the
/// reverse path.
const DUMMY_ADDRESS: &str = "192.0.0.8/32";
/// Frames are IP packets here.
const LARGEST_TUN_MTU: u32 = 65_535;
/// Both families, as `ip` has them.
const FAMILIES: [Family; 2] = [Family { option: "-4", is_v4: true }, Family { option: "-6", is_v4: false }];

/// A family of addresses.
#[derive(Clone, Copy, Debug)]
struct Family {
    option: &'static str,
    is_v4: bool,
}

/// The TUN backend. It belongs to the network namespace of the thread that opened it, and is to be
/// dropped in it.
#[derive(Debug)]
pub struct Policy {
    rules: Option<Rules>,
    devices: Devices,
    /// The ports' interfaces; free again behind all the rest.
    _claims: Claims,
}

impl Policy {
    /// Claims these ports' interfaces and leads the selected TCP that comes in by them to us. Needs
    /// `CAP_NET_ADMIN`, `/proc/sys/net` to be writable, and `ip` of iproute2. A gateway of this
    /// kind that was here before and was killed is cleaned up after.
    pub fn open(ports: Vec<Port>, selection: &Selection) -> Result<Self, PolicyError> {
        let names: Vec<String> = ports.iter().map(|port| port.name.clone()).collect();
        Self::over(Claims::take(&names)?, ports, selection)
    }

    /// Tests what this backend needs, without any effect on traffic: a TUN device, `ip`, policy routing
    /// and, where the settings are that it changes, the right to. The device vanishes again.
    pub(crate) fn try_out() -> Result<(), PolicyError> {
        drop(Device::new("lasthop%d", Kind::Tun)?);
        for family in FAMILIES {
            run_ip(family, &["rule show".to_owned()])?;
        }
        rustix::fs::access("/proc/sys/net/ipv4/conf/all/rp_filter", Access::WRITE_OK).map_err(|error| {
            PolicyError::Setting { setting: "rp_filter", name: "lasthop0".to_owned(), error: error.into() }
        })
    }

    /// The same over interfaces that are claimed already.
    pub(crate) fn over(claims: Claims, ports: Vec<Port>, selection: &Selection) -> Result<Self, PolicyError> {
        let rules = Rules::none(&claims)?;
        let mut devices = Vec::with_capacity(ports.len());
        let mut commands = FAMILIES.map(|_| Vec::new());
        for port in &ports {
            let interface = Interface::named(&port.name).map_err(PolicyError::Wait)?;
            let tun = Device::new("lasthop%d", Kind::Tun)?;
            set_up(&tun)?;
            let table = FIRST_TABLE.saturating_add(interface.index());
            commands[0].push(format!("address add {DUMMY_ADDRESS} dev {} scope host", tun.name()));
            for (family, commands) in FAMILIES.into_iter().zip(&mut commands) {
                commands.push(format!("route replace default dev {} table {table}", tun.name()));
                commands.extend(rules_of(&port.name, table, selection, family));
            }
            devices.push(tun);
        }
        let ports = ports.into_iter().map(|port| Port { ethernet: false, ..port }).collect();
        let devices = Devices::new(ports, devices).map_err(PolicyError::Wait)?;
        for (family, mut commands) in FAMILIES.into_iter().zip(commands) {
            let mut priorities = FIRST_PRIORITY..;
            for command in commands.iter_mut().filter(|command| command.starts_with("rule")) {
                *command = format!("{command} priority {}", priorities.next().unwrap_or(FIRST_PRIORITY));
            }
            let count = priorities.start - FIRST_PRIORITY;
            if count > RULES {
                return Err(PolicyError::TooMany(count));
            }
            run_ip(family, &commands)?;
        }
        Ok(Self { rules: Some(rules), devices, _claims: claims })
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        // Nothing more is led to us, and what is here already goes on.
        self.rules = None;
        self.devices.drain();
    }
}

/// Brings up a device that takes in what other interfaces received.
fn set_up(tun: &Device) -> Result<(), PolicyError> {
    let interface = tun.bring_up(LARGEST_TUN_MTU, false)?;
    for (family, setting, value) in [
        ("ipv4", "forwarding", "1"),
        ("ipv6", "forwarding", "1"),
        // The way back to a packet's source is by the port and not by this device. The kernel takes
        // the larger of this and the setting of all interfaces: 2 is the loose check. It fails on a
        // device without an address, see `DUMMY_ADDRESS`.
        ("ipv4", "rp_filter", "2"),
        ("ipv4", "send_redirects", "0"),
    ] {
        interface.set(family, setting, value).map_err(|error| PolicyError::Setting {
            setting,
            name: tun.name().to_owned(),
            error,
        })?;
    }
    Ok(())
}

/// The rules for what comes in by a port, without their priorities: exclusions, then inclusions.
fn rules_of(port: &str, table: u32, selection: &Selection, family: Family) -> Vec<String> {
    let rule =
        |selectors: &str, table: &str| format!("rule add iif {port} ipproto tcp {selectors} lookup {table}");
    let of_family = |prefixes: &[Prefix]| -> Vec<String> {
        let prefixes = prefixes.iter().filter(|prefix| prefix.is_ipv4() == family.is_v4);
        prefixes.flat_map(|prefix| [format!("from {prefix}"), format!("to {prefix}")]).collect()
    };
    let of_ports = |ports: &[u16]| {
        ports.iter().flat_map(|port| [format!("sport {port}"), format!("dport {port}")]).collect()
    };
    let excluded_ports: Vec<String> = of_ports(&selection.excluded_ports);
    let mut ports: Vec<String> = of_ports(&selection.ports);
    let mut prefixes = of_family(&selection.prefixes);

    let excluded = excluded_ports.into_iter().chain(of_family(&selection.excluded_prefixes));
    let mut rules: Vec<String> = excluded.map(|selector| rule(&selector, "main")).collect();
    if selection.ports.is_empty() {
        ports.push(String::new());
    }
    if selection.prefixes.is_empty() {
        prefixes.push(String::new());
    }
    let table = table.to_string();
    for prefix in &prefixes {
        rules.extend(ports.iter().map(|port| rule(&format!("{prefix} {port}"), &table)));
    }
    rules
}

/// The rules that are there on account of our ports; removed when this is dropped.
#[derive(Debug)]
struct Rules(Claims);

impl Rules {
    /// Removes what gateways before us have left: at our ports, and at others that no gateway has.
    fn none(claims: &Claims) -> Result<Self, PolicyError> {
        remove_rules(|port| claims.has(port) || claim::holder(port).is_none())?;
        Ok(Self(claims.clone()))
    }
}

/// Removes what killed gateways with this backend have left, for one with another. Where there is
/// no `ip` nothing was left.
pub fn clear_away(claims: &Claims) {
    match remove_rules(|port| claims.has(port) || claim::holder(port).is_none()) {
        Ok(()) | Err(PolicyError::Start(_)) => {}
        Err(error) => {
            tracing::warn!(%error, "routing rules of a killed gateway may remain; they have no effect");
        }
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        if let Err(error) = remove_rules(|port| self.0.has(port)) {
            tracing::warn!(%error, "routing rules remain; they have no effect");
        }
    }
}

/// Removes the rules with a priority of ours that are for such ports. The tables' routes vanish
/// with their devices.
fn remove_rules(is_for: impl Fn(&str) -> bool) -> Result<(), PolicyError> {
    for family in FAMILIES {
        let rules = run_ip(family, &["rule show".to_owned()])?;
        let ours = rules.lines().filter_map(priority_and_port).filter(|(_, port)| is_for(port));
        let commands: Vec<String> = ours
            .map(|(priority, port)| format!("rule del priority {priority} iif {port} ipproto tcp"))
            .collect();
        if !commands.is_empty() {
            run_ip(family, &commands)?;
        }
    }
    Ok(())
}

/// Reads a line such as `26002:\tfrom all iif wlan0 ipproto tcp lookup 26003`; `None` if it is not
/// a rule of a gateway.
fn priority_and_port(line: &str) -> Option<(usize, &str)> {
    let (priority, rule) = line.split_once(':')?;
    let priority = priority.trim().parse().ok()?;
    let mut words = rule.split_whitespace().skip_while(|word| *word != "iif");
    let port = words.nth(1)?;
    (FIRST_PRIORITY..FIRST_PRIORITY + RULES).contains(&priority).then_some((priority, port))
}

/// Has `ip` do these, in order; returns what it printed.
fn run_ip(family: Family, commands: &[String]) -> Result<String, PolicyError> {
    let mut child = Command::new("ip")
        .args([family.option, "-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(PolicyError::Start)?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may end at the first error and read no further; its status says so.
        let _ = stdin.write_all((commands.join("\n") + "\n").as_bytes());
    }
    let output = child.wait_with_output().map_err(PolicyError::Start)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(PolicyError::Refused { message, commands: commands.join("; ") })
}

/// Whether an IP packet is for several. TCP never is.
fn is_multicast(packet: &[u8]) -> bool {
    match packet {
        [first, ..] if first >> 4 == 6 => packet.get(24) == Some(&0xff),
        _ => packet.get(16).is_some_and(|first| first >> 4 == 0xe),
    }
}

impl PacketIo for Policy {
    fn ports(&self) -> &[Port] {
        self.devices.ports()
    }

    fn receive(&mut self, frames: &mut Vec<(PortId, Frame)>) -> io::Result<()> {
        let before = frames.len();
        self.devices.receive(frames)?;
        // The kernel looks for IPv6 neighbours on the device. That is not for any port.
        let mut index = 0;
        frames.retain(|(_, frame)| {
            index += 1;
            index <= before || !is_multicast(&frame.octets)
        });
        Ok(())
    }

    fn send(&mut self, port: PortId, frame: &Frame) -> io::Result<Sent> {
        self.devices.send(port, frame)
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        self.devices.wait(until, None).map(drop)
    }

    fn waker(&self) -> Wake {
        self.devices.waker()
    }

    /// Nobody listens.
    fn heartbeat(&mut self, _now: Instant) {}
}
