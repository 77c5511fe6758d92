//! TUN and TAP devices: network interfaces whose other end is this process. They vanish with it,
//! whatever ends it.

mod features;
mod interface;
mod offload;
mod request;

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bytes::Bytes;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, readv, writev};
use thiserror::Error;

use crate::buffer::Buffers;
use crate::frame::{Frame, Sent};
use offload::Offload;
use request::Request;

pub use interface::Interface;

/// What frames of a device are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IP packets.
    Tun,
    /// Ethernet frames.
    Tap,
}

/// Why there is no device.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// `/dev/net/tun` does not open.
    #[error("cannot open /dev/net/tun: {0}; {advice}", advice = how_to_open(.0))]
    Open(#[source] io::Error),
    /// The device cannot be made.
    #[error("cannot create the device {name}: {error}; this requires CAP_NET_ADMIN and an unused name")]
    Make {
        /// Its name.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// It cannot be set up.
    #[error("cannot {what} of the device {name}: {error}")]
    Set {
        /// What was tried.
        what: &'static str,
        /// Its name.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
}

/// What an operator can do about that.
fn how_to_open(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied {
        "run as root, and let the container or the systemd unit use the device (DeviceAllow=/dev/net/tun rw)"
    } else {
        "load the kernel module `tun` (OpenWrt: install kmod-tun)"
    }
}

/// The largest MTU of a TAP device: 65,535 octets less an Ethernet header.
pub const LARGEST_MTU: u32 = 65_521;
/// Frames that wait for us before the kernel drops one.
pub(crate) const QUEUE_LENGTH: u32 = 10_000;

/// Checksums, segments over IPv4 and IPv6, and segments with ECN may be left to us (`TUN_F_*`).
/// Kernels refuse what they do not know, so less is tried after more.
const OFFLOADS: [u32; 3] = [1 | 2 | 4 | 8, 1 | 2 | 4, 0];

/// A TUN or TAP device in the network namespace of the thread that made it.
#[derive(Debug)]
pub struct Device {
    name: String,
    kind: Kind,
    file: OwnedFd,
}

impl Device {
    /// Makes a device; a `%d` in the name becomes a number that is free. It is down still, and has
    /// no addresses.
    pub fn new(name: &str, kind: Kind) -> Result<Self, DeviceError> {
        let (file, name) = attach(name, kind, libc::IFF_VNET_HDR)?;
        let set = |what| {
            let name = name.clone();
            move |error| DeviceError::Set { what, name, error }
        };
        request::set_header_len(&file, offload::LEN as u8).map_err(set("set the frame header"))?;
        let mut offered = Ok(());
        for features in OFFLOADS {
            offered = request::set_offload(&file, features);
            if offered.is_ok() {
                break;
            }
        }
        offered.map_err(set("set the offloads"))?;
        Ok(Self { name, kind, file })
    }

    /// Brings it up with room for many frames. A device that only carries what other interfaces
    /// take in and give out is kept `silent`: no ARP, no IPv6 of its own.
    pub fn bring_up(&self, mtu: u32, silent: bool) -> Result<Interface, DeviceError> {
        let set = |what| move |error| DeviceError::Set { what, name: self.name.clone(), error };
        let interface = Interface::named(&self.name).map_err(set("find the interface"))?;
        interface.set_mtu(mtu).map_err(set("set the MTU"))?;
        interface.set_queue_length(QUEUE_LENGTH).map_err(set("set the queue length"))?;
        if silent {
            interface.set("ipv6", "disable_ipv6", "1").map_err(set("disable the IPv6"))?;
        } else {
            // No address of its own, and no talk with routers.
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

    /// Reads one frame; `None` if there is none now. A frame with an offload header that makes no
    /// sense is passed over.
    pub(crate) fn read(&self, buffers: &mut Buffers) -> io::Result<Option<Frame>> {
        loop {
            let mut header = [0; offload::LEN];
            let read = buffers.read_with(|[small, large]| {
                let len = readv(&self.file, &mut [IoSliceMut::new(&mut header), small, large])?;
                Ok(len.saturating_sub(offload::LEN))
            });
            let octets = match read {
                Ok(octets) => octets,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if let Some(frame) = framed(header, octets) {
                return Ok(Some(frame));
            }
        }
    }

    /// Writes one frame.
    pub(crate) fn write(&self, frame: &Frame) -> io::Result<Sent> {
        match self.try_write(frame) {
            Ok(sent) => Ok(sent),
            // No room, not a frame that the kernel takes, or the device is down or gone.
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::INVAL | Errno::IO | Errno::BADFD) => {
                Ok(Sent::Lost)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The same; the kernel's refusal is an error.
    pub(crate) fn try_write(&self, frame: &Frame) -> Result<Sent, Errno> {
        let Some(header) = Offload::header(frame, self.kind == Kind::Tap) else { return Ok(Sent::Lost) };
        loop {
            return match writev(&self.file, &[IoSlice::new(&header), IoSlice::new(&frame.octets)]) {
                Ok(_) => Ok(Sent::Whole),
                Err(Errno::INTR) => continue,
                Err(error) => Err(error),
            };
        }
    }
}

/// Makes a device with these flags beside its kind's; the descriptor behind it, and the name that
/// it got.
pub(crate) fn attach(name: &str, kind: Kind, flags: libc::c_int) -> Result<(OwnedFd, String), DeviceError> {
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
        Ok(name) => Ok((file, name)),
        Err(error) => Err(DeviceError::Make { name: name.to_owned(), error }),
    }
}

/// The Ethernet address of a TAP device.
pub(crate) fn hardware_address(name: &str, device: impl AsFd) -> io::Result<[u8; 6]> {
    Request::about(name)?.hardware_address(device.as_fd())
}

fn framed(header: [u8; offload::LEN], octets: Bytes) -> Option<Frame> {
    let Offload { checksum, segment_size, first_segment_cwr } = Offload::parse(header, octets.len())?;
    Some(Frame { octets, checksum, segment_size, first_segment_cwr })
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
    fn a_device_that_one_may_not_open_is_no_missing_module() {
        let said = |errno: Errno| DeviceError::Open(errno.into()).to_string();
        for refused in [Errno::PERM, Errno::ACCESS] {
            assert!(said(refused).contains("run as root") && !said(refused).contains("module"));
        }
        for missing in [Errno::NOENT, Errno::NODEV] {
            assert!(said(missing).contains("load the kernel module `tun`"));
        }
    }
}
