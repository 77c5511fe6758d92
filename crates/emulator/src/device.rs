//! The network interface of a real host at an end of the model: a TAP or TUN device. The device
//! advertises no offloads, so the kernel segments packets and computes checksums before it delivers
//! them here.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use thiserror::Error;

use super::framing::{Framing, Received};
use lasthop_linux::device::{self, Kind};
use lasthop_linux::namespace::{IpError, Namespace};

/// A TAP or TUN device. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Device {
    device: device::Device,
    framing: Framing,
}

/// Why a device cannot be opened.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The kernel refused.
    #[error(transparent)]
    Open(#[from] device::DeviceError),
    /// The namespace cannot be entered, or the device's address cannot be read.
    #[error("cannot reach the device {name:?}: {source}")]
    Reach {
        /// The device's name.
        name: String,
        /// The cause.
        source: io::Error,
    },
    /// The device cannot be configured.
    #[error(transparent)]
    Configure(#[from] IpError),
}

impl Device {
    /// Opens a device with this name (at most 15 octets) in the namespace of the calling thread.
    /// Requires `CAP_NET_ADMIN`.
    pub fn open(name: &str, kind: Kind) -> Result<Self, DeviceError> {
        let device = device::Device::new(name, kind)?;
        let framing = match kind {
            Kind::Tun => Framing::Bare,
            Kind::Tap => {
                let address = device.hardware_address();
                Framing::ToHost(
                    address
                        .map_err(|source| DeviceError::Reach { name: device.name().to_owned(), source })?,
                )
            }
        };
        Ok(Self { device, framing })
    }

    /// Opens a TAP device in a namespace, with address resolution disabled: the host sends to every
    /// neighbor with the device's own Ethernet address, so neither ARP nor neighbor discovery
    /// crosses the model. The device has no IP address, not even a link-local one, and is down; its
    /// owner configures it.
    pub fn tap_in(namespace: &Namespace, name: &str) -> Result<Self, DeviceError> {
        let opened = namespace.enter(|| Self::open(name, Kind::Tap));
        let device = opened.map_err(|source| DeviceError::Reach { name: name.to_owned(), source })??;
        namespace.ip(&[&format!("link set dev {name} arp off addrgenmode none")])?;
        Ok(device)
    }

    /// Opens a TAP device in a namespace, at one end of a link between two parts of a bridged network, whose hosts have
    /// IPv4 addresses and the Ethernet addresses of [`ethernet_address`](super::framing::ethernet_address). The model carries packets, of which the
    /// frames are made again: only packets of IPv4 cross it. The device is down; its owner configures it.
    pub fn between_hosts(namespace: &Namespace, name: &str) -> Result<Self, DeviceError> {
        let opened = namespace.enter(|| Self::open(name, Kind::Tap));
        let device = opened.map_err(|source| DeviceError::Reach { name: name.to_owned(), source })??;
        Ok(Self { framing: Framing::BetweenHosts, ..device })
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        self.device.name()
    }

    /// Receives a frame from the host; `None` if none is pending. `buffer` has room for
    /// [`LONGEST_FRAME`](super::framing::LONGEST_FRAME) octets.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let len = match self.device.read(&mut [IoSliceMut::new(buffer)]) {
            Ok(len) => len,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(self.framing.open(&buffer[..len])))
    }

    /// Delivers a packet to the host. After an error, for example if the device is down, the packet
    /// is lost.
    pub(super) fn send(&self, packet: &[u8]) -> io::Result<()> {
        let header = self.framing.header(packet).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.device.write(&[IoSlice::new(header.octets()), IoSlice::new(packet)])?)
    }
}

/// The index and the name of the device at the start of a line of `ip link show` or `ip address
/// show`, such as `2: eth0@if3: <BROADCAST...`.
pub(super) fn listed(line: &str) -> Option<(u32, String)> {
    let (number, rest) = line.split_once(": ")?;
    let (name, _) = rest.split_once(": ")?;
    Some((number.parse().ok()?, name.split('@').next().unwrap_or(name).to_owned()))
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
