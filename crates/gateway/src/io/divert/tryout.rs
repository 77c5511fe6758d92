//! Tests whether the tc backend works on this kernel: a frame of our own takes the whole path, over
//! a TAP device of our own in place of a radio interface. No other traffic is affected, and nothing
//! is transmitted.

use std::io;
use std::time::Duration;

use lasthop_packet::wire::emit;
use lasthop_packet::{Ip, Packet, Payload, Tcp, TcpFlags};

use super::{Divert, DivertError};
use crate::buffer::Buffers;
use crate::device::FrameDevice;
use crate::frame::Frame;
use crate::io::claim::Claims;
use crate::io::{PacketIo, PortId, Selection};
use lasthop_linux::clock;
use lasthop_linux::device::{Kind, LARGEST_MTU};

/// A frame takes some tens of microseconds, and longer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(1);

/// The ports of the first radio interface, as [`Divert::over`] makes them.
const DOWN: PortId = PortId(0);
const UP: PortId = PortId(1);

impl Divert {
    /// Tests the backend on a device in place of a radio interface: a frame received there has to
    /// reach us, and the frames that we send back have to leave by the device and to reach the
    /// stack. Needs what [`Divert::open`] needs, and leaves nothing behind.
    pub fn try_out() -> Result<(), DivertError> {
        let radio = FrameDevice::new("lasthop%d", Kind::Tap)?;
        radio.bring_up(LARGEST_MTU, true)?;
        let name = [radio.name().to_owned()];
        let claims = Claims::take(&name)?;
        let mut divert = Self::over(claims, &name, &Selection::default(), super::Attachment::Newest)?;
        carry(&mut divert, &radio).map_err(DivertError::Wait)?.map_err(DivertError::Lost)
    }
}

/// Where a frame was lost.
type Lost = &'static str;

fn carry(divert: &mut Divert, radio: &FrameDevice) -> io::Result<Result<(), Lost>> {
    let frame = frame();
    divert.heartbeat(clock::now());
    let _ = radio.write(&frame)?;
    if !comes_by(divert, UP, &frame)? {
        return Ok(Err("frames received by the interface did not reach the gateway"));
    }
    let _ = divert.send(UP, &frame)?;
    let _ = divert.send(DOWN, &frame)?;
    let mut buffers = Buffers::new();
    let mut came_out = false;
    let both_went_on = until(divert, |divert| {
        while let Some(seen) = radio.read(&mut buffers)? {
            came_out |= seen.octets == frame.octets;
        }
        let restored = divert.counters().map_err(io::Error::other)?.restored;
        Ok(came_out && restored >= 2)
    })?;
    Ok(match (both_went_on, came_out) {
        (true, _) => Ok(()),
        (false, true) => Err("frames forwarded by the gateway did not reach the stack through the interface"),
        (false, false) => Err("frames forwarded by the gateway did not leave through the interface"),
    })
}

fn comes_by(divert: &mut Divert, port: PortId, frame: &Frame) -> io::Result<bool> {
    let mut frames = Vec::new();
    until(divert, |divert| {
        divert.receive(&mut frames)?;
        Ok(frames.drain(..).any(|(by, seen)| by == port && seen.octets == frame.octets))
    })
}

/// Waits until this holds, with a heartbeat; `false` if it does not within [`PATIENCE`].
fn until(divert: &mut Divert, mut holds: impl FnMut(&mut Divert) -> io::Result<bool>) -> io::Result<bool> {
    let deadline = clock::now() + PATIENCE;
    loop {
        let now = clock::now();
        divert.heartbeat(now);
        if holds(divert)? {
            return Ok(true);
        }
        if now >= deadline {
            return Ok(false);
        }
        divert.wait(Some(now + Duration::from_millis(1)))?;
    }
}

/// A TCP reset that belongs to no connection, between locally administered MAC addresses and the
/// IPv4 dummy address (RFC 7600).
fn frame() -> Frame {
    let nobody = std::net::IpAddr::from([192, 0, 0, 8]);
    let tcp = Tcp { source_port: 9, destination_port: 9, flags: TcpFlags::RST, ..Tcp::default() };
    let packet =
        Packet::tcp_segment(Ip::new(nobody, nobody), tcp, Payload::Stream { stream: 0, offset: 0, len: 0 });
    let link = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    Frame::plain([&link[..], &emit(&packet)].concat().into())
}
