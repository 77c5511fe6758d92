//! TUN and TAP devices: network interfaces whose other end is this process. They vanish with it,
//! however it ends.

mod driver;
mod features;
mod interface;
mod request;

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, readv, writev};
use thiserror::Error;

use request::Request;

pub use interface::Interface;

/// The kind of a device's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IP packets.
    Tun,
    /// Ethernet frames.
    Tap,
}

/// Why a device is not available.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// `/dev/net/tun` cannot be opened.
    #[error("cannot open /dev/net/tun: {0}; {advice}", advice = how_to_open(.0))]
    Open(#[source] io::Error),
    /// The device cannot be created.
    #[error("cannot create the device {name}: {error}; this requires CAP_NET_ADMIN and an unused name")]
    Make {
        /// Its name.
        name: String,
        /// The error of the kernel.
        #[source]
        error: io::Error,
    },
    /// It cannot be configured.
    #[error("cannot {what} of the device {name}: {error}")]
    Set {
        /// The attempted change.
        what: &'static str,
        /// Its name.
        name: String,
        /// The error of the kernel.
        #[source]
        error: io::Error,
    },
}

/// Advice to an operator about that.
fn how_to_open(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied {
        "run as root, and let the container or the systemd unit use the device (DeviceAllow=/dev/net/tun rw)"
    } else {
        "load the kernel module `tun` (OpenWrt: install kmod-tun)"
    }
}

/// The largest MTU of a TAP device: 65,535 octets less an Ethernet header.
pub const LARGEST_MTU: u32 = 65_521;
/// Number of frames that may wait for us before the kernel drops one.
pub const QUEUE_LENGTH: u32 = 10_000;

/// The kernel may leave checksums, segments over IPv4 and IPv6, and segments with ECN to us
/// (`TUN_F_*`). Kernels refuse unknown flags, so the sets are tried in descending order.
const OFFLOADS: [u32; 3] = [1 | 2 | 4 | 8, 1 | 2 | 4, 0];

/// A TUN or TAP device in the network namespace of the thread that created it. Reads and writes do
/// not block.
#[derive(Debug)]
pub struct Device {
    name: String,
    kind: Kind,
    file: OwnedFd,
}

impl Device {
    /// Creates a device; a `%d` in the name becomes a free number. The device is down, and has no
    /// addresses. The kernel splits super-packets and fills in checksums before frames are read
    /// here.
    pub fn new(name: &str, kind: Kind) -> Result<Self, DeviceError> {
        Self::make(name, kind, 0)
    }

    /// Creates a device that accepts super-packets and frames without checksums: each frame follows
    /// a header of `header_len` octets (`struct virtio_net_hdr`).
    pub fn with_offloads(name: &str, kind: Kind, header_len: u8) -> Result<Self, DeviceError> {
        let device = Self::make(name, kind, libc::IFF_VNET_HDR)?;
        let set = |what| {
            let name = device.name.clone();
            move |error| DeviceError::Set { what, name, error }
        };
        request::set_header_len(&device.file, header_len).map_err(set("set the frame header"))?;
        let mut offered = Ok(());
        for features in OFFLOADS {
            offered = request::set_offload(&device.file, features);
            if offered.is_ok() {
                break;
            }
        }
        offered.map_err(set("set the offloads"))?;
        Ok(device)
    }

    /// Creates a device with these flags in addition to those of its kind.
    fn make(name: &str, kind: Kind, flags: libc::c_int) -> Result<Self, DeviceError> {
        let access = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file =
            open("/dev/net/tun", access, Mode::empty()).map_err(|error| DeviceError::Open(error.into()))?;
        let layer = match kind {
            Kind::Tun => libc::IFF_TUN,
            Kind::Tap => libc::IFF_TAP,
        };
        let flags = layer | libc::IFF_NO_PI | flags;
        let made = Request::about(name).and_then(|request| request.make_tun(file.as_fd(), flags));
        match made {
            Ok(name) => Ok(Self { name, kind, file }),
            Err(error) => Err(DeviceError::Make { name: name.to_owned(), error }),
        }
    }

    /// Brings the device up with room for many frames. A device that only carries traffic of other
    /// interfaces is kept `silent`: no ARP, no IPv6 of its own.
    pub fn bring_up(&self, mtu: u32, silent: bool) -> Result<Interface, DeviceError> {
        let set = |what| move |error| DeviceError::Set { what, name: self.name.clone(), error };
        let interface = Interface::named(&self.name).map_err(set("find the interface"))?;
        interface.set_mtu(mtu).map_err(set("set the MTU"))?;
        interface.set_queue_length(QUEUE_LENGTH).map_err(set("set the queue length"))?;
        if silent {
            interface.set("ipv6", "disable_ipv6", "1").map_err(set("disable the IPv6"))?;
        } else {
            // No automatic address, and no router discovery.
            interface.set("ipv6", "addr_gen_mode", "1").map_err(set("disable the automatic addresses"))?;
            interface.set("ipv6", "accept_ra", "0").map_err(set("disable the router discovery"))?;
        }
        interface.bring_up(false).map_err(set("change the state"))?;
        Ok(interface)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of its frames.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The Ethernet address of a TAP device.
    pub fn hardware_address(&self) -> io::Result<[u8; 6]> {
        Request::about(&self.name)?.hardware_address(self.file.as_fd())
    }

    /// Reads one frame, after its header if there is one, and returns the number of octets;
    /// `EAGAIN` if no frame waits.
    pub fn read(&self, into: &mut [IoSliceMut<'_>]) -> Result<usize, Errno> {
        readv(&self.file, into)
    }

    /// Writes one frame, after its header if there is one.
    pub fn write(&self, frame: &[IoSlice<'_>]) -> Result<(), Errno> {
        writev(&self.file, frame).map(drop)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_permission_does_not_advise_to_load_the_module() {
        let message = |errno: Errno| DeviceError::Open(errno.into()).to_string();
        for refused in [Errno::PERM, Errno::ACCESS] {
            assert!(message(refused).contains("run as root") && !message(refused).contains("module"));
        }
        for missing in [Errno::NOENT, Errno::NODEV] {
            assert!(message(missing).contains("load the kernel module `tun`"));
        }
    }
}
