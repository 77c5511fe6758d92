//! The network interface of a real host at an end of the model: a TAP or TUN device. The device
//! advertises no offloads, so the kernel segments packets and computes checksums before it delivers
//! them here.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};

use bytes::Bytes;
use rustix::io::Errno;
use thiserror::Error;

use lasthop_linux::device::{self, Kind};
use lasthop_linux::namespace::{IpError, Namespace};

/// A TAP or TUN device. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Device {
    device: device::Device,
    framing: Framing,
}

/// The header of frames to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// A TUN device: none.
    Bare,
    /// All frames go to the device's own Ethernet address.
    ToHost([u8; 6]),
    /// Frames have the Ethernet addresses of both hosts of the packet ([`ethernet_address`]).
    BetweenHosts,
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

/// A frame from a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// An IP packet according to its Ethernet type, or any packet from a TUN device; not validated.
    Packet(Bytes),
    /// A frame of another protocol.
    NotIp,
}

const ETHERNET_HEADER: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// The source address of frames from the model, locally administered. No host has it or resolves
/// it.
const FAR_END: [u8; 6] = [0x02, 0x6c, 0x68, 0x6f, 0x70, 0x01];
/// The longest IP packet, and an Ethernet header.
pub(super) const LONGEST_FRAME: usize = 65_535 + ETHERNET_HEADER;

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
    /// IPv4 addresses and the Ethernet addresses of [`ethernet_address`]. The model carries packets, of which the
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
    /// [`LONGEST_FRAME`] octets.
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

    /// Delivers a packet to the host. After an error, for example if the device is down, the packet
    /// is lost.
    pub(super) fn send(&self, packet: &[u8]) -> io::Result<()> {
        let sent = match self.framing {
            Framing::Bare => self.device.write(&[IoSlice::new(packet)]),
            Framing::ToHost(address) => {
                let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
                let header = header(address, FAR_END, if is_v6 { IPV6 } else { IPV4 });
                self.device.write(&[IoSlice::new(&header), IoSlice::new(packet)])
            }
            Framing::BetweenHosts => {
                let (source, destination) = hosts_of(packet).ok_or(io::ErrorKind::InvalidInput)?;
                let header = header(ethernet_address(destination), ethernet_address(source), IPV4);
                self.device.write(&[IoSlice::new(&header), IoSlice::new(packet)])
            }
        };
        Ok(sent?)
    }
}

/// The Ethernet address of a host in a bridged network, locally administered, which follows from its IPv4 address; for a
/// broadcast or multicast address, that of all hosts or of the group (RFC 1112, section 6.4).
pub fn ethernet_address(host: Ipv4Addr) -> [u8; 6] {
    let [first, second, third, fourth] = host.octets();
    if host.is_broadcast() {
        [0xff; 6]
    } else if host.is_multicast() {
        [0x01, 0x00, 0x5e, second & 0x7f, third, fourth]
    } else {
        [0x02, 0x6c, first, second, third, fourth]
    }
}

/// The source and the destination of a packet of IPv4.
fn hosts_of(packet: &[u8]) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let address =
        |at: usize| packet.get(at..at + 4)?.first_chunk::<4>().map(|octets| Ipv4Addr::from(*octets));
    (packet.first()? >> 4 == 4).then_some((address(12)?, address(16)?))
}

fn header(to: [u8; 6], from: [u8; 6], kind: [u8; 2]) -> [u8; ETHERNET_HEADER] {
    let mut header = [0; ETHERNET_HEADER];
    header[..6].copy_from_slice(&to);
    header[6..12].copy_from_slice(&from);
    header[12..].copy_from_slice(&kind);
    header
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethernet_addresses_follow_from_those_of_ip() {
        let of = |host: [u8; 4]| ethernet_address(host.into());
        assert_eq!(of([10, 77, 0, 3]), [0x02, 0x6c, 10, 77, 0, 3]);
        assert_eq!(of([255; 4]), [0xff; 6]);
        assert_eq!(of([224, 128, 0, 22]), [0x01, 0x00, 0x5e, 0, 0, 22]);
    }

    #[test]
    fn a_packet_of_ipv4_names_its_hosts_and_no_other_does() {
        let mut packet = [0; 20];
        packet[0] = 0x45;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        assert_eq!(hosts_of(&packet), Some(([10, 0, 0, 1].into(), [10, 0, 0, 2].into())));
        assert_eq!(hosts_of(&packet[..19]), None);
        assert_eq!(hosts_of(&[]), None);
        packet[0] = 0x60;
        assert_eq!(hosts_of(&packet), None);
    }
}
