//! Tests whether the tc backend works on this kernel: a test frame takes the complete path, over a
//! TAP device in place of a radio interface. No other traffic is affected, and nothing is
//! transmitted.

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

/// The maximum time for a frame. It takes some tens of microseconds, and longer on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The ports of the first radio interface, as [`Divert::over`] creates them.
const DOWN: PortId = PortId(0);
const UP: PortId = PortId(1);

impl Divert {
    /// Tests the backend on a device in place of a radio interface: a frame received there must
    /// reach the gateway, and frames put back must leave through the device and reach the stack.
    /// Has the requirements of [`Divert::open`], and no lasting effect.
    pub fn try_out() -> Result<(), DivertError> {
        let radio = FrameDevice::new("lasthop%d", Kind::Tap)?;
        radio.bring_up(LARGEST_MTU, true)?;
        let name = [radio.name().to_owned()];
        let claims = Claims::take(&name)?;
        let mut divert = Self::over(claims, &name, &Selection::default(), super::Attachment::Newest)?;
        carry(&mut divert, &radio).map_err(DivertError::Wait)?.map_err(DivertError::Lost)
    }
}

/// The point at which a frame was lost.
type Lost = &'static str;

fn carry(divert: &mut Divert, radio: &FrameDevice) -> io::Result<Result<(), Lost>> {
    let frame = frame();
    divert.heartbeat(clock::now());
    let _ = radio.write(&frame)?;
    if !arrives_on(divert, UP, &frame)? {
        return Ok(Err("frames received by the interface did not reach the gateway"));
    }
    let _ = divert.send(UP, &frame)?;
    let _ = divert.send(DOWN, &frame)?;
    let mut buffers = Buffers::new();
    let mut has_left = false;
    let are_both_restored = until(divert, |divert| {
        while let Some(seen) = radio.read(&mut buffers)? {
            has_left |= seen.octets == frame.octets;
        }
        let restored = divert.counters().map_err(io::Error::other)?.restored;
        Ok(has_left && restored >= 2)
    })?;
    Ok(match (are_both_restored, has_left) {
        (true, _) => Ok(()),
        (false, true) => Err("frames forwarded by the gateway did not reach the stack through the interface"),
        (false, false) => Err("frames forwarded by the gateway did not leave through the interface"),
    })
}

fn arrives_on(divert: &mut Divert, port: PortId, frame: &Frame) -> io::Result<bool> {
    let mut frames = Vec::new();
    until(divert, |divert| {
        divert.receive(&mut frames)?;
        Ok(frames.drain(..).any(|(at, seen)| at == port && seen.octets == frame.octets))
    })
}

/// Waits until `holds` returns true, sending heartbeats; `false` if it does not within [`TIMEOUT`].
fn until(divert: &mut Divert, mut holds: impl FnMut(&mut Divert) -> io::Result<bool>) -> io::Result<bool> {
    let deadline = clock::now() + TIMEOUT;
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
    let dummy = std::net::IpAddr::from([192, 0, 0, 8]);
    let tcp = Tcp { source_port: 9, destination_port: 9, flags: TcpFlags::RST, ..Tcp::default() };
    let packet =
        Packet::tcp_segment(Ip::new(dummy, dummy), tcp, Payload::Stream { stream: 0, offset: 0, len: 0 });
    let link = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    Frame::plain([&link[..], &emit(&packet)].concat().into())
}
