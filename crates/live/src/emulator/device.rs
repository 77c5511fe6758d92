//! The network interface of a real host at an end of the model: a TAP or TUN device. The kernel cuts super-packets and fills in
//! checksums before they come here, because this device offers no offloads.

#![expect(unsafe_code, reason = "TUN/TAP devices are configured by ioctl, for which rustix has no safe call")]

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use bytes::Bytes;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use crate::namespace::{IpError, Namespace};

/// What a frame on a device begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// An Ethernet header: a TAP device.
    Ethernet,
    /// The IP header: a TUN device.
    Ip,
}

/// A TAP or TUN device. It vanishes with this value.
#[derive(Debug)]
pub struct Device {
    name: String,
    file: OwnedFd,
    layer: Layer,
    /// The device's own address, to which everything that leaves the model is sent.
    address: [u8; 6],
}

/// Why a device cannot be opened.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The kernel would not.
    #[error("cannot open the TUN/TAP device {name:?}: {source}{}", hint(.source))]
    Open {
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
    /// Opens a device of this name, at most 15 octets, in the namespace of the calling thread. Needs `CAP_NET_ADMIN`.
    pub fn open(name: &str, layer: Layer) -> Result<Self, DeviceError> {
        Self::try_open(name, layer).map_err(|source| DeviceError::Open { name: name.to_owned(), source })
    }

    /// Opens a TAP device in a namespace, with address resolution off: its hosts take every neighbour to have the device's own
    /// Ethernet address, so that neither ARP nor neighbour discovery crosses the model. It has no address of its own accord, and is
    /// down until its owner has given it some.
    pub fn tap_in(namespace: &Namespace, name: &str) -> Result<Self, DeviceError> {
        let opened = namespace.enter(|| Self::open(name, Layer::Ethernet));
        let device = opened.map_err(|source| DeviceError::Open { name: name.to_owned(), source })??;
        namespace.ip(&[&format!("link set dev {name} arp off addrgenmode none")])?;
        Ok(device)
    }

    fn try_open(name: &str, layer: Layer) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
        let mut request = InterfaceRequest::named(name)?;
        let kind = match layer {
            Layer::Ethernet => libc::IFF_TAP,
            Layer::Ip => libc::IFF_TUN,
        };
        request.value[..2].copy_from_slice(&((kind | libc::IFF_NO_PI) as u16).to_ne_bytes());
        request.call(&file, libc::TUNSETIFF)?;
        let address = match layer {
            Layer::Ip => [0; 6],
            Layer::Ethernet => {
                request.call(&file, libc::SIOCGIFHWADDR)?;
                // Behind two octets with the address's family.
                let mut address = [0; 6];
                address.copy_from_slice(&request.value[2..8]);
                address
            }
        };
        Ok(Self { name: name.to_owned(), file, layer, address })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes what the host has sent; `None` if there is nothing. `buffer` is long enough for any frame.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let len = match rustix::io::read(&self.file, &mut *buffer) {
            Ok(len) => len,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let frame = &buffer[..len];
        Ok(Some(match self.layer {
            Layer::Ip => Received::Packet(Bytes::copy_from_slice(frame)),
            Layer::Ethernet => match frame.get(12..ETHERNET_HEADER) {
                Some(kind) if kind == IPV4 || kind == IPV6 => {
                    Received::Packet(Bytes::copy_from_slice(&frame[ETHERNET_HEADER..]))
                }
                _ => Received::NotIp,
            },
        }))
    }

    /// Gives a packet to the host. An error loses it, as when the device is down.
    pub(super) fn send(&self, packet: &[u8]) -> io::Result<()> {
        match self.layer {
            Layer::Ip => rustix::io::write(&self.file, packet)?,
            Layer::Ethernet => {
                let header = self.header(packet);
                rustix::io::writev(&self.file, &[IoSlice::new(&header), IoSlice::new(packet)])?
            }
        };
        Ok(())
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

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The kernel's `struct ifreq`: a name, and a value whose meaning the call decides.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    value: [u8; 24],
}

impl InterfaceRequest {
    fn named(name: &str) -> io::Result<Self> {
        let mut request = Self { name: [0; 16], value: [0; 24] };
        if name.is_empty() || name.len() >= request.name.len() || name.contains(['\0', '/']) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected a name of 1 to 15 octets"));
        }
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        Ok(request)
    }

    fn call(&mut self, file: &OwnedFd, operation: impl TryInto<libc::Ioctl>) -> io::Result<()> {
        let operation = operation.try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: both calls read and write one `struct ifreq` of 40 octets, which `self` is, and keep no pointer to it.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), operation, &raw mut *self) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => " (it takes root)",
        io::ErrorKind::NotFound => " (is the kernel module \"tun\" there?)",
        _ => "",
    }
}
