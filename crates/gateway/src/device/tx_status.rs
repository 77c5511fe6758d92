//! The path of frames to clients on which the Wi-Fi driver reports their TX status.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use lasthop_agent::Fate;
use lasthop_linux::wifi_status::{Report, WifiStatusSocket};
use lasthop_packet::Packet;

use super::offload::Offload;
use crate::frame::{Frame, Headers, Sent};

/// Octets of a frame that are read from its report: its headers.
const HEADERS: usize = 256;
/// The longest frame.
const LONGEST: usize = 1 << 17;
/// The most reports of one turn of the packet loop.
const MAX_REPORTS: usize = 1024;

/// A path to the driver of a radio interface.
#[derive(Debug)]
pub(crate) struct TxStatusPath {
    socket: WifiStatusSocket,
    buffer: [u8; HEADERS],
    /// Frames that the driver was given.
    sent: Cell<u64>,
}

impl TxStatusPath {
    /// A path to the driver of the interface with this index.
    pub(crate) fn open(interface: u32) -> io::Result<Self> {
        Ok(Self { socket: WifiStatusSocket::open(interface)?, buffer: [0; HEADERS], sent: Cell::new(0) })
    }

    /// Sends a frame: a super-packet as its segments, because the driver would report only the first of them.
    pub(crate) fn send(&self, frame: &Frame) -> io::Result<Sent> {
        let Some(segments) = frame.segments(true) else { return self.send_whole(frame) };
        let mut sent = Sent::Whole;
        for segment in segments {
            if self.send_whole(&segment)? == Sent::Lost {
                sent = Sent::Lost;
            }
        }
        Ok(sent)
    }

    fn send_whole(&self, frame: &Frame) -> io::Result<Sent> {
        let Some(header) = Offload::header(frame, true) else { return Ok(Sent::Lost) };
        loop {
            return match self.socket.send(&header, &frame.octets) {
                Ok(()) => {
                    self.sent.set(self.sent.get() + 1);
                    Ok(Sent::Whole)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // As with the devices: no room, an invalid frame, or an interface that is down or was removed.
                Err(error) if is_loss(&error) => Ok(Sent::Lost),
                Err(error) => Err(error),
            };
        }
    }

    /// Frames that the driver was given.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent.get()
    }

    /// Calls `take` with the packet and the fate of each frame that was reported since the last call, up to a bound.
    /// Of a packet, only the headers are known. Returns whether there may be more.
    pub(crate) fn take_reports(&mut self, take: &mut dyn FnMut(&Packet, Fate)) -> io::Result<bool> {
        for _ in 0..MAX_REPORTS {
            let Some(Report { len, acknowledged }) = self.socket.report(&mut self.buffer)? else {
                return Ok(false);
            };
            // A report that is cut does not say how long the frame was; its IP header does.
            let octets = &self.buffer[..len];
            let headers = Headers { octets, len: LONGEST, segment_size: None };
            if let Ok((_, packet)) = headers.parse(true) {
                take(&packet, if acknowledged { Fate::Delivered } else { Fate::GivenUp });
            }
        }
        Ok(true)
    }
}

fn is_loss(error: &io::Error) -> bool {
    let lost = [
        libc::EAGAIN,
        libc::ENOBUFS,
        libc::ENOMEM,
        libc::EINVAL,
        libc::EMSGSIZE,
        libc::ENETDOWN,
        libc::ENXIO,
        libc::ENODEV,
    ];
    error.raw_os_error().is_some_and(|number| lost.contains(&number))
}

impl AsFd for TxStatusPath {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
