//! The network interface of a real host at an end of the model: a TAP or TUN device. The kernel
//! cuts super-packets and fills in checksums before they come here, because this device offers no
//! offloads.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};

use bytes::Bytes;
use rustix::io::Errno;
use thiserror::Error;

use lasthop_linux::device::{self, Kind};
use lasthop_linux::namespace::{IpError, Namespace};

/// A TAP or TUN device. It vanishes with this value.
#[derive(Debug)]
pub struct Device {
    device: device::Device,
    /// The device's own address, to which everything that leaves the model is sent.
    address: [u8; 6],
}

/// Why a device cannot be opened.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The kernel would not.
    #[error(transparent)]
    Open(#[from] device::DeviceError),
    /// It is not to be reached.
    #[error("cannot reach the device {name:?}: {source}")]
    Reach {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// It is there, but cannot be set up.
    #[error(transparent)]
    Configure(#[from] IpError),
}

/// What came out of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// An IP packet, or what claims to be one.
    Packet(Bytes),
    /// A frame of something else.
    NotIp,
}

const ETHERNET_HEADER: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// The far end's address, locally administered: nobody answers to it, and nobody asks for it.
const FAR_END: [u8; 6] = [0x02, 0x6c, 0x68, 0x6f, 0x70, 0x01];
/// As long as an IP packet can be, and an Ethernet header.
pub(super) const LONGEST_FRAME: usize = 65_535 + ETHERNET_HEADER;

impl Device {
    /// Opens a device of this name, at most 15 octets, in the namespace of the calling thread.
    /// Needs `CAP_NET_ADMIN`.
    pub fn open(name: &str, kind: Kind) -> Result<Self, DeviceError> {
        let device = device::Device::new(name, kind)?;
        let address = match kind {
            Kind::Tun => [0; 6],
            Kind::Tap => device
                .hardware_address()
                .map_err(|source| DeviceError::Reach { name: device.name().to_owned(), source })?,
        };
        Ok(Self { device, address })
    }

    /// Opens a TAP device in a namespace, with address resolution off: its hosts take every
    /// neighbour to have the device's own Ethernet address, so that neither ARP nor neighbour
    /// discovery crosses the model. It has no address of its own accord, and is down until its
    /// owner has given it some.
    pub fn tap_in(namespace: &Namespace, name: &str) -> Result<Self, DeviceError> {
        let opened = namespace.enter(|| Self::open(name, Kind::Tap));
        let device = opened.map_err(|source| DeviceError::Reach { name: name.to_owned(), source })??;
        namespace.ip(&[&format!("link set dev {name} arp off addrgenmode none")])?;
        Ok(device)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.device.name()
    }

    /// Takes what the host has sent; `None` if there is nothing. `buffer` is long enough for any
    /// frame.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let len = match self.device.read(&mut [IoSliceMut::new(buffer)]) {
            Ok(len) => len,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let frame = &buffer[..len];
        Ok(Some(match self.device.kind() {
            Kind::Tun => Received::Packet(Bytes::copy_from_slice(frame)),
            Kind::Tap => match frame.get(12..ETHERNET_HEADER) {
                Some(kind) if kind == IPV4 || kind == IPV6 => {
                    Received::Packet(Bytes::copy_from_slice(&frame[ETHERNET_HEADER..]))
                }
                _ => Received::NotIp,
            },
        }))
    }

    /// Gives a packet to the host. An error loses it, as when the device is down.
    pub(super) fn send(&self, packet: &[u8]) -> io::Result<()> {
        let sent = match self.device.kind() {
            Kind::Tun => self.device.write(&[IoSlice::new(packet)]),
            Kind::Tap => self.device.write(&[IoSlice::new(&self.header(packet)), IoSlice::new(packet)]),
        };
        Ok(sent?)
    }

    fn header(&self, packet: &[u8]) -> [u8; ETHERNET_HEADER] {
        let mut header = [0; ETHERNET_HEADER];
        header[..6].copy_from_slice(&self.address);
        header[6..12].copy_from_slice(&FAR_END);
        let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
        header[12..].copy_from_slice(if is_v6 { &IPV6 } else { &IPV4 });
        header
    }
}

/// The number and the name of the device that a line of `ip link show` or `ip address show` begins with,
/// such as `2: eth0@if3: <BROADCAST...`.
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
