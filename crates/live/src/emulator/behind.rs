//! A host of one's own behind an emulated hop: a namespace at one end, this machine at the other.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use super::device::{Device, DeviceError};
use super::directory::Directory;
use super::machine::Machine;
use crate::namespace::{IpError, Namespace};

/// The device's name in the namespace behind the hop.
pub const DEVICE: &str = "hop";

/// A namespace with a device `hop` to which everything goes, and this machine's device at the other
/// end.
#[derive(Debug)]
pub struct BehindHop {
    /// The host behind the hop.
    pub inside: Namespace,
    /// Where the other end is: the namespace of whoever made this.
    pub outside: Namespace,
    /// This machine's address at the hop.
    pub gateway: Ipv4Addr,
    /// The same, of IPv6; nothing beyond it is reached by IPv6. `None` where there is no IPv6.
    pub gateway_v6: Option<Ipv6Addr>,
    /// The address behind the hop.
    pub address: Ipv4Addr,
    /// The same, of IPv6.
    pub address_v6: Option<Ipv6Addr>,
    /// The name of this machine's device.
    pub device: String,
    /// Where the emulation keeps its files.
    pub directory: Directory,
}

/// Why there is no host behind a hop.
#[derive(Debug, Error)]
pub enum BehindHopError {
    /// A namespace cannot be made or entered.
    #[error("cannot create a network namespace: {}{}", .0, hint(.0))]
    Namespace(#[from] io::Error),
    /// A device cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// There is no place for files.
    #[error("cannot keep files in {directory}: {source}")]
    Directory {
        /// The directory.
        directory: String,
        /// Why not.
        source: io::Error,
    },
    /// Another emulation may be choosing the same subnet.
    #[error("cannot lock {file}: {source}")]
    Lock {
        /// What is locked.
        file: String,
        /// Why not.
        source: io::Error,
    },
    /// Addresses cannot be set.
    #[error(transparent)]
    Ip(#[from] IpError),
    /// All subnets that this uses are in use.
    #[error("all subnets from 100.64.0.0/30 to 100.64.255.0/30 are in use on this machine")]
    NoSubnet,
}

impl BehindHop {
    /// Makes the host, and the devices at the near end, in its namespace, and at the far end, in
    /// this one. Both are up. Emulations that have the same directory have different subnets.
    pub fn new(directory: Directory, machine: &Machine) -> Result<(Self, Device, Device), BehindHopError> {
        let outside = Namespace::current("this machine")?;
        let inside = Namespace::new("behind the hop")?;
        directory.make().map_err(|source| {
            let directory = directory.path().display().to_string();
            BehindHopError::Directory { directory, source }
        })?;
        // Until the device that takes the subnet is there.
        let lock = directory.lock().map_err(|source| {
            let file = directory.lock_file().display().to_string();
            BehindHopError::Lock { file, source }
        })?;
        let subnet = free_subnet(&outside, machine.addresses())?;
        let [gateway, address] = [1, 2].map(|host| Ipv4Addr::new(100, 64, subnet, host));
        let v6 = |host| Ipv6Addr::new(0xfd6c, 0x6f70, u16::from(subnet), 0, 0, 0, 0, host);
        let device = format!("lasthop{subnet}");

        let far = Device::tap_in(&outside, &device)?;
        drop(lock);
        let near = Device::tap_in(&inside, DEVICE)?;
        for (namespace, name) in [(&inside, DEVICE), (&outside, device.as_str())] {
            // Hosts that look for routers would take their share of the link, and of its draws.
            let key = format!("ipv6/conf/{name}/router_solicitations");
            if let Err(error) = namespace.sysctl(&key, "0") {
                tracing::debug!("IPv6 is not available: {error}");
            }
        }
        outside.ip(&[&format!("address add {gateway}/30 dev {device}"), &format!("link set {device} up")])?;
        inside.ip(&[
            &format!("address add {address}/30 dev {DEVICE}"),
            &format!("link set {DEVICE} up"),
            &format!("route add default via {gateway} dev {DEVICE}"),
        ])?;
        let ends = [(&inside, DEVICE, 2), (&outside, device.as_str(), 1)];
        let has_v6 = ends.into_iter().try_for_each(|(namespace, name, host)| {
            namespace.ip(&[&format!("address add {}/64 dev {name} nodad", v6(host))]).map(drop)
        });
        if let Err(error) = &has_v6 {
            tracing::debug!("IPv6 is not available: {error}");
        }
        // In a user namespace the caller is in this group, and has no right but this one to `ping`.
        if let Err(error) = inside.sysctl("ipv4/ping_group_range", "0 0") {
            tracing::debug!("only root can ping: {error}");
        }
        let [gateway_v6, address_v6] = [1, 2].map(|host| has_v6.is_ok().then(|| v6(host)));
        Ok((Self { inside, outside, gateway, gateway_v6, address, address_v6, device, directory }, near, far))
    }

    /// The subnet of the hop.
    pub fn subnet(&self) -> String {
        let [a, b, c, _] = self.gateway.octets();
        format!("{a}.{b}.{c}.0/30")
    }
}

/// The third octet of a subnet of 100.64.0.0/10 (RFC 6598: for what lies between an operator and
/// its customers) that no device here, or of this machine, has.
fn free_subnet(namespace: &Namespace, of_machine: &str) -> Result<u8, BehindHopError> {
    let used = namespace.ip(&["address show"])? + of_machine;
    let is_free = |octet: &u8| {
        !used.contains(&format!(" 100.64.{octet}.")) && !used.contains(&format!(": lasthop{octet}: "))
    };
    (0..=u8::MAX).find(is_free).ok_or(BehindHopError::NoSubnet)
}

/// Whether a device of this machine has a name as those of emulations have.
pub(super) fn is_ours(device: &str) -> bool {
    let number = device.strip_prefix("lasthop").unwrap_or_default();
    !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
}

fn hint(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied { " (this requires root)" } else { "" }
}
