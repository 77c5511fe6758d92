//! The client side of an emulated hop: a network namespace at one end, this machine at the other.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use lasthop_packet::Prefix;
use thiserror::Error;

use super::device::{Device, DeviceError};
use super::directory::Directory;
use super::in_use::InUse;
use super::machine::Machine;
use lasthop_linux::namespace::{IpError, Namespace};

/// The device's name in the client's namespace.
pub const DEVICE: &str = "hop";

/// A client in a namespace whose default route is a device `hop`, and this machine's device at the
/// other end.
#[derive(Debug)]
pub struct ClientSide {
    /// The client's namespace.
    pub inside: Namespace,
    /// The namespace of the other end, which is that of the caller of [`Self::new`].
    pub outside: Namespace,
    /// This machine's IPv4 address at the hop.
    pub gateway: Ipv4Addr,
    /// This machine's IPv6 address at the hop. IPv6 does not reach other hosts. `None` without
    /// IPv6.
    pub gateway_v6: Option<Ipv6Addr>,
    /// The client's IPv4 address.
    pub address: Ipv4Addr,
    /// The client's IPv6 address. `None` without IPv6.
    pub address_v6: Option<Ipv6Addr>,
    /// The name of this machine's device.
    pub device: String,
    /// The directory of the emulation's files.
    pub directory: Directory,
}

/// Why the client side of a hop cannot be set up.
#[derive(Debug, Error)]
pub enum ClientSideError {
    /// A namespace cannot be created or entered.
    #[error("cannot create a network namespace: {}{}", .0, hint(.0))]
    Namespace(#[from] io::Error),
    /// A device cannot be created.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The directory for files cannot be created.
    #[error("cannot keep files in {directory}: {source}")]
    Directory {
        /// The directory.
        directory: String,
        /// The cause.
        source: io::Error,
    },
    /// The lock that keeps other emulations from choosing the same subnet cannot be taken.
    #[error("cannot lock {file}: {source}")]
    Lock {
        /// The lock file.
        file: String,
        /// The cause.
        source: io::Error,
    },
    /// Addresses cannot be set.
    #[error(transparent)]
    Ip(#[from] IpError),
    /// All candidate subnets are in use.
    #[error(
        "all subnets from 100.64.0.0/30 to 100.64.255.0/30 and from 198.18.0.0/30 to 198.18.255.0/30 are in use on this machine, by its addresses, routes or rules"
    )]
    NoSubnet,
}

impl ClientSide {
    /// Creates the client's namespace and two devices: the near end, in that namespace, and the far
    /// end, in the current one. Both are up. Emulations with the same directory have different
    /// subnets.
    pub fn new(directory: Directory, machine: &Machine) -> Result<(Self, Device, Device), ClientSideError> {
        let outside = Namespace::current("this machine")?;
        let inside = Namespace::new("behind the hop")?;
        directory.make().map_err(|source| {
            let directory = directory.path().display().to_string();
            ClientSideError::Directory { directory, source }
        })?;
        // Held until the device that claims the subnet exists.
        let lock = directory.lock().map_err(|source| {
            let file = directory.lock_file().display().to_string();
            ClientSideError::Lock { file, source }
        })?;
        let in_use = InUse::here()?.and(machine.in_use());
        let subnet = Subnet::free(&in_use).ok_or(ClientSideError::NoSubnet)?;
        let [gateway, address] = [1, 2].map(|host| subnet.v4(host));
        let v6 = |host| subnet.v6(host);
        let device = subnet.device();

        let far = Device::tap_in(&outside, &device)?;
        drop(lock);
        let near = Device::tap_in(&inside, DEVICE)?;
        for (namespace, name) in [(&inside, DEVICE), (&outside, device.as_str())] {
            // Router solicitations would use the link's capacity and its random draws.
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
        let has_v6 = subnet.has_v6(&in_use) && {
            let ends = [(&inside, DEVICE, 2), (&outside, device.as_str(), 1)];
            let set = ends.into_iter().try_for_each(|(namespace, name, host)| {
                namespace.ip(&[&format!("address add {}/64 dev {name} nodad", v6(host))]).map(drop)
            });
            set.inspect_err(|error| tracing::debug!("IPv6 is not available: {error}")).is_ok()
        };
        // In a user namespace the caller is in this group, and needs this permission to use `ping`.
        if let Err(error) = inside.sysctl("ipv4/ping_group_range", "0 0") {
            tracing::debug!("only root can ping: {error}");
        }
        let [gateway_v6, address_v6] = [1, 2].map(|host| has_v6.then(|| v6(host)));
        Ok((Self { inside, outside, gateway, gateway_v6, address, address_v6, device, directory }, near, far))
    }

    /// The subnet of the hop.
    pub fn subnet(&self) -> String {
        let [a, b, c, _] = self.gateway.octets();
        format!("{a}.{b}.{c}.0/30")
    }
}

/// The address spaces from which subnets are taken: the shared space between an operator and its
/// customers (RFC 6598), and, where that is in use, that of test networks (RFC 2544,
/// appendix C.2.2).
const SPACES: [([u8; 2], u8); 2] = [([100, 64], 10), ([198, 18], 15)];

/// The addresses of a hop: host 1 is the far end, host 2 the near one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// The first two octets.
    space: [u8; 2],
    /// The third octet.
    number: u8,
}

impl Subnet {
    /// The one of an emulation whose hosts have a kernel for themselves.
    pub const FIRST: Self = Self { space: SPACES[0].0, number: 0 };

    /// An unused subnet, preferably in a space that only emulations use: other users of a space may
    /// have rules for all of it.
    fn free(in_use: &InUse) -> Option<Self> {
        let all = |space| (0..=u8::MAX).map(move |number| Self { space, number });
        let is_left = |(space, len): &([u8; 2], u8)| {
            let [first, second] = *space;
            let whole = Prefix::new(Ipv4Addr::new(first, second, 0, 0).into(), *len);
            let parts: Vec<Prefix> = all(*space).filter_map(Self::prefix).collect();
            whole.is_some_and(|whole| in_use.is_left_to(&whole, &parts))
        };
        let (ours, others): (Vec<_>, Vec<_>) = SPACES.into_iter().partition(is_left);
        let is_free = |subnet: &Self| {
            let is_used = subnet.prefix().is_none_or(|prefix| in_use.has_any_of(&prefix));
            !is_used && !in_use.has_device(&subnet.device())
        };
        ours.into_iter().chain(others).flat_map(|(space, _)| all(space)).find(is_free)
    }

    /// The IPv4 address of a host.
    pub fn v4(self, host: u8) -> Ipv4Addr {
        let [first, second] = self.space;
        Ipv4Addr::new(first, second, self.number, host)
    }

    /// The IPv6 address of a host.
    pub fn v6(self, host: u16) -> Ipv6Addr {
        Ipv6Addr::new(0xfd6c, 0x6f70, u16::from(self.number), 0, 0, 0, 0, host)
    }

    fn prefix(self) -> Option<Prefix> {
        Prefix::new(self.v4(0).into(), 30)
    }

    /// Whether the IPv6 addresses are unused.
    fn has_v6(self, in_use: &InUse) -> bool {
        Prefix::new(self.v6(0).into(), 64).is_some_and(|prefix| !in_use.has_any_of(&prefix))
    }

    fn device(self) -> String {
        format!("lasthop{}", self.number)
    }
}

/// Whether a device name has the form of those of emulations.
pub(super) fn is_ours(device: &str) -> bool {
    let number = device.strip_prefix("lasthop").unwrap_or_default();
    !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
}

fn hint(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied { " (this requires root)" } else { "" }
}
