//! TUN and TAP devices that read and write [`Frame`]s, including super-packets.

mod offload;
pub(crate) mod tx_status;

use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};

use bytes::Bytes;
use lasthop_linux::device::{Device, DeviceError, Kind};
use rustix::io::Errno;

use crate::buffer::Buffers;
use crate::frame::{Frame, Sent};
use offload::Offload;

/// A device whose frames have an offload header.
#[derive(Debug)]
pub struct FrameDevice(Device);

impl FrameDevice {
    /// Creates a device, which is down and has no addresses. A `%d` in the name is replaced by a
    /// free number.
    pub fn new(name: &str, kind: Kind) -> Result<Self, DeviceError> {
        Device::with_offloads(name, kind, offload::LEN as u8).map(Self)
    }

    /// Reads one frame; `None` if none is available. Skips frames with an invalid offload header.
    pub(crate) fn read(&self, buffers: &mut Buffers) -> io::Result<Option<Frame>> {
        loop {
            let mut header = [0; offload::LEN];
            let read = buffers.read_with(|[small, large]| {
                let len = self.0.read(&mut [IoSliceMut::new(&mut header), small, large])?;
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
            // No room, an invalid frame, or a device that is down or was removed.
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::INVAL | Errno::IO | Errno::BADFD) => {
                Ok(Sent::Lost)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// As [`FrameDevice::write`], but a refusal by the kernel is an error.
    pub(crate) fn try_write(&self, frame: &Frame) -> Result<Sent, Errno> {
        let Some(header) = Offload::header(frame, self.kind() == Kind::Tap) else { return Ok(Sent::Lost) };
        loop {
            return match self.0.write(&[IoSlice::new(&header), IoSlice::new(&frame.octets)]) {
                Ok(()) => Ok(Sent::Whole),
                Err(Errno::INTR) => continue,
                Err(error) => Err(error),
            };
        }
    }
}

fn framed(header: [u8; offload::LEN], octets: Bytes) -> Option<Frame> {
    let Offload { checksum, segment_size, first_segment_cwr } = Offload::parse(header, octets.len())?;
    Some(Frame { octets, checksum, segment_size, first_segment_cwr })
}

impl AsFd for FrameDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Deref for FrameDevice {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.0
    }
}
