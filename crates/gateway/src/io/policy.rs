//! The TUN backend: policy routing rules route the selected TCP into one TUN device per port, and
//! packets written back are routed as usual. It needs no BPF.
//!
//! It has limits that the tc backend does not have:
//!
//! - **hang**: while the process is alive but does not run, TCP routed to it is lost. If the
//!   process ends, in whatever way, the devices vanish, the rules have no effect, and the kernel
//!   routes as usual.
//! - **address translation**: connection tracking sees each packet twice, on two interfaces, and
//!   masquerading breaks.
//! - **bridging**: rules apply to routed traffic only.
//! - The time to live is decremented once more, and traceroute shows an additional hop.
//!
//! TCP to and from the gateway host itself is not diverted, because the kernel checks its own
//! addresses first.

mod error;
mod mend;
mod routing;
mod rules;

use std::io;

use lasthop_packet::Instant;
use rustix::fs::Access;

use super::claim::{self, Claims};
use super::devices::Devices;
use super::health::Health;
use super::poller::Poller;
use super::{Fault, PacketIo, Port, PortId, Selection, Sent, Wake};
use crate::device::FrameDevice;
use crate::frame::Frame;
use lasthop_linux::clock;
use lasthop_linux::device::{Interface, Kind};

pub use error::PolicyError;
pub(crate) use error::RULES;
pub use rules::clear_away;

use rules::{FAMILIES, Rules, additions, run_ip};

/// The number of a port's routing table is this number plus the index of its interface.
const FIRST_TABLE: u32 = 26_000;
/// The IPv4 dummy address, which no host uses (RFC 7600). A device without an address fails each
/// reverse path check.
const DUMMY_ADDRESS: &str = "192.0.0.8/32";
/// The maximum length of an IP packet: frames on a TUN device have no link header.
const LARGEST_TUN_MTU: u32 = 65_535;

/// The TUN backend. It belongs to the network namespace of the thread that opened it, and must be
/// dropped in it.
#[derive(Debug)]
pub struct Policy {
    rules: Rules,
    devices: Devices,
    /// The indices of each port's interface and device.
    numbers: Vec<Numbers>,
    health: Health,
    /// Whether all our rules and routes are known to exist.
    are_rules_whole: bool,
    poller: Poller<io::Result<bool>>,
    /// The claims on the ports' interfaces. The last field, so that it is dropped last.
    claims: Claims,
}

/// Interface indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    port: u32,
    tun: u32,
}

impl Policy {
    /// Claims these ports' interfaces, and diverts the selected TCP that enters through them. Needs
    /// `CAP_NET_ADMIN`, `/proc/sys/net` to be writable, and `ip` of iproute2. Removes the rules of
    /// a previous gateway with this backend that was killed.
    pub fn open(ports: Vec<Port>, selection: &Selection) -> Result<Self, PolicyError> {
        let names: Vec<String> = ports.iter().map(|port| port.name.clone()).collect();
        Self::over(Claims::take(&names)?, ports, selection)
    }

    /// Tests the requirements of this backend, without any effect on traffic: a TUN device, `ip`,
    /// policy routing, and permission to change the settings of a device. The device vanishes
    /// again.
    pub(crate) fn try_out() -> Result<(), PolicyError> {
        drop(FrameDevice::new("lasthop%d", Kind::Tun)?);
        for family in FAMILIES {
            run_ip(family, &["rule show".to_owned()])?;
        }
        rustix::fs::access("/proc/sys/net/ipv4/conf/all/rp_filter", Access::WRITE_OK).map_err(|error| {
            PolicyError::Setting { setting: "rp_filter", name: "lasthop0".to_owned(), error: error.into() }
        })
    }

    /// The number of rules that an address family needs for these ports; an error if it exceeds the
    /// number of priorities.
    pub(crate) fn rules_needed(ports: &[String], selection: &Selection) -> Result<usize, PolicyError> {
        let ports: Vec<(String, u32)> = ports.iter().map(|port| (port.clone(), FIRST_TABLE)).collect();
        Ok(additions(&ports, selection)?.iter().map(Vec::len).max().unwrap_or(0))
    }

    /// As [`Policy::open`], for interfaces that are already claimed.
    pub(crate) fn over(claims: Claims, ports: Vec<Port>, selection: &Selection) -> Result<Self, PolicyError> {
        let number_of = |port: &Port| {
            Interface::named(&port.name).map(|interface| interface.index()).map_err(PolicyError::Wait)
        };
        let interfaces: Vec<u32> = ports.iter().map(number_of).collect::<Result<_, PolicyError>>()?;
        let names = ports.iter().map(|port| port.name.clone());
        let tables = interfaces.iter().map(|number| FIRST_TABLE.saturating_add(*number));
        let rules = Rules::new(names.zip(tables).collect(), selection, &claims)?;
        let (mut devices, mut numbers) = (Vec::with_capacity(ports.len()), Vec::new());
        for port in interfaces {
            let tun = FrameDevice::new("lasthop%d", Kind::Tun)?;
            numbers.push(Numbers { port, tun: set_up(&tun)? });
            devices.push(tun);
        }
        let ports = ports.into_iter().map(|port| Port { ethernet: false, ..port }).collect();
        let devices = Devices::new(ports, devices).map_err(PolicyError::Wait)?;
        let poller = Poller::start(rules.are_whole()).map_err(PolicyError::Thread)?;
        let health = Health::new(clock::now());
        let mut policy = Self { rules, devices, numbers, health, are_rules_whole: true, poller, claims };
        policy.rules.clear_away(|port| claim::holder(port).is_none())?;
        policy.divert()?;
        Ok(policy)
    }

    /// Adds the rules and routes to the devices.
    fn divert(&mut self) -> Result<(), PolicyError> {
        let names = (0..self.numbers.len()).map(|port| self.devices.device(port).name());
        self.rules.add(names, DUMMY_ADDRESS)
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        // No more packets are diverted, and those already diverted are forwarded.
        self.rules.remove();
        self.devices.drain();
    }
}

/// Brings up a device for packets that other interfaces received. Returns its index.
fn set_up(tun: &FrameDevice) -> Result<u32, PolicyError> {
    let interface = tun.bring_up(LARGEST_TUN_MTU, false)?;
    for (family, setting, value) in [
        ("ipv4", "forwarding", "1"),
        ("ipv6", "forwarding", "1"),
        // The route to a packet's source is through the port, not through this device. The kernel
        // uses the larger of this value and the setting for all interfaces: 2 is the loose check.
        // It fails on a device without an address, see `DUMMY_ADDRESS`.
        ("ipv4", "rp_filter", "2"),
        ("ipv4", "send_redirects", "0"),
    ] {
        interface.set(family, setting, value).map_err(|error| PolicyError::Setting {
            setting,
            name: tun.name().to_owned(),
            error,
        })?;
    }
    Ok(interface.index())
}

/// Whether an IP packet is a multicast packet. TCP never is.
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
        // The kernel sends IPv6 neighbor discovery on the device, which is for no port.
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

    fn faults(&mut self, now: Instant) -> &[Fault] {
        self.check_health(now);
        &self.health.faults
    }

    /// Does nothing: the kernel does not check it.
    fn heartbeat(&mut self, _now: Instant) {}
}
