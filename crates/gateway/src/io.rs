//! Ports: the input and output of frames.

pub mod claim;
mod devices;
pub mod divert;
mod health;
pub mod memory;
pub mod policy;
mod poller;
mod proof;
pub mod selection;
pub mod steering;

use std::io;
use std::time::Duration;

use lasthop_agent::{Bypass, Fate, Side};
use lasthop_packet::{FlowKey, Instant, Packet};

use crate::frame::{Frame, Headers};

pub use crate::frame::Sent;
pub use selection::{FIRST_USER_PORT, Selection};

/// A port by its index in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u16);

/// A direction of a network interface in which frames are taken: ingress, or, with the tc backend,
/// also egress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The interface's name.
    pub name: String,
    /// The side of the agents from which its frames come. With the tc backend, frames that *leave*
    /// through a radio interface come from the core side.
    pub side: Side,
    /// Whether frames on it start with an Ethernet header.
    pub ethernet: bool,
    /// For a port that receives copies: the ports, of the core side and of the radio side, whose
    /// frames the kernel forwarded. No frame is sent through a port for copies.
    pub copies_of: Option<[PortId; 2]>,
}

/// Takes frames out of the kernel's path and puts frames into it.
///
/// A frame received from a port was taken out of the kernel's path there; the kernel no longer has
/// it. A frame sent with a port *continues as if it had arrived on that port*, at the point where
/// the port's frames are taken: an incoming frame is then routed, bridged or translated as usual,
/// and a frame that was leaving through a radio interface enters that interface's queue. So a frame
/// that an agent forwards is sent with the port from which it was received, and a frame that an
/// agent generates with the port on which the flow's own frames arrive.
pub trait PacketIo {
    /// The ports; a [`PortId`] is an index.
    fn ports(&self) -> &[Port];

    /// Moves the available frames into `frames`, up to a bound; copies come before frames that may
    /// answer or follow them. Does not wait.
    fn receive(&mut self, frames: &mut Vec<(PortId, Frame)>) -> io::Result<()>;

    /// Calls `take` for each packet that the kernel forwarded, in order, with its port, time and
    /// headers. To be called after [`PacketIo::receive`]; these packets are to be handled before
    /// the received frames, which may answer or follow them.
    fn passed(&mut self, take: &mut dyn FnMut(PortId, Instant, &Headers<'_>)) {
        let _ = take;
    }

    /// Calls `take` with the packet and the fate of each frame that a driver has reported, in order. To be called
    /// after [`PacketIo::receive`]. Of a packet, only the headers may be known.
    fn fates(&mut self, take: &mut dyn FnMut(&Packet, Fate)) {
        let _ = take;
    }

    /// Frames whose fates a driver was asked for; `None` if none is.
    fn asked_for_fates(&self) -> Option<u64> {
        None
    }

    /// Sends a frame as if it had arrived on `port`. A frame for which the kernel has no room is
    /// lost, as on any link; the return value indicates this.
    fn send(&mut self, port: PortId, frame: &Frame) -> io::Result<Sent>;

    /// Waits until a frame is available, until `until`, or until another thread wakes it; at most
    /// as long as the backend's heartbeat allows.
    fn wait(&mut self, until: Option<Instant>) -> io::Result<()>;

    /// A function that ends the current wait, or the next one, from another thread.
    fn waker(&self) -> Wake;

    /// Indicates to the kernel side that the loop is alive. To be called in each turn of the loop;
    /// after 60 ms without a heartbeat, frames bypass the gateway.
    fn heartbeat(&mut self, now: Instant);

    /// Tests whether frames get through the ports, and repairs them where possible. To be called in
    /// each turn of the loop. Returns the current faults; a backend that cannot detect faults
    /// returns none.
    fn faults(&mut self, now: Instant) -> &[Fault] {
        let _ = now;
        &[]
    }

    /// Whether frames bypass a loop that does not run or has stepped out. With other backends, they
    /// wait for the loop.
    fn can_step_out(&self) -> bool {
        false
    }

    /// Has frames bypass the gateway from now on, until the next heartbeat. A backend without
    /// bypass ignores this.
    fn step_out(&mut self) {}

    /// Allows packets of a flow to bypass the engine, after all frames sent before. A backend with
    /// bypass forwards them in the kernel and delivers copies or headers; others ignore this.
    fn allow_bypass(&mut self, bypass: Bypass) {
        let _ = bypass;
    }

    /// Sets a connection aside because agents have no use for it. A backend with bypass then
    /// forwards both directions in the kernel, until a new connection opens between the same
    /// addresses and ports. Frames of it in transit are still received.
    fn set_aside(&mut self, flow: FlowKey) {
        let _ = flow;
    }

    /// Diverts both directions of a connection again that was set aside.
    fn divert_again(&mut self, flow: FlowKey) {
        let _ = flow;
    }
}

/// A fault of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The description, such as `the device lasthop0 is down`.
    pub what: String,
    /// Whether diverted frames may be lost, so that the loop must step out.
    pub loses_frames: bool,
}

/// Ends a wait of the [`PacketIo`] that created it.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// The maximum time for which [`PacketIo::wait`] waits: a third of the time after which the
/// heartbeat is stale.
pub const LONGEST_WAIT: Duration = Duration::from_millis(20);
