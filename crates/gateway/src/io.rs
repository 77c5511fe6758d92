//! Ports: where frames come from and go to.

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

use lasthop_agent::{Bypass, Side};
use lasthop_packet::{FlowKey, Instant};

use crate::frame::{Frame, Headers};

pub use crate::frame::Sent;
pub use selection::{FIRST_USER_PORT, Selection};

/// A port by its place in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u16);

/// A way that frames come: into the gateway by a network interface, or, for the tc backend, out of
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The interface's name.
    pub name: String,
    /// Which side of the agents its frames come from. With the tc backend what *leaves* by a radio
    /// interface comes from the core's side.
    pub side: Side,
    /// Whether frames on it start with an Ethernet header.
    pub ethernet: bool,
    /// Of a port for copies: where the kernel let pass what they are copies of, from the core's
    /// side and from the radio's. Nothing is sent by it.
    pub copies_of: Option<[PortId; 2]>,
}

/// Takes frames out of the kernel's path and puts frames into it.
///
/// A frame that is received from a port was taken out of the kernel's path there, and the kernel
/// has let go of it. A frame that is sent with a port *goes on as if it had come that way*, from
/// the very place where the port's frames are taken: one that came in is then routed, bridged or
/// translated as ever, and one that was on its way out by a radio interface goes to that
/// interface's queue. So a frame that an agent forwards is sent with the port that it was received
/// from, and a copy that an agent makes with the port that the flow's own frames come by.
pub trait PacketIo {
    /// The ports; a [`PortId`] is an index.
    fn ports(&self) -> &[Port];

    /// Takes what is there, at most some tens of frames, into `frames`; copies come before what may
    /// answer or follow them. Does not wait.
    fn receive(&mut self, frames: &mut Vec<(PortId, Frame)>) -> io::Result<()>;

    /// Hands in what passed without asking, by its headers, in the order in which it passed: the port
    /// where, the time when, and the headers. Call it after [`PacketIo::receive`], and handle what it
    /// gives before the received frames: whatever those answer or follow is among it.
    fn passed(&mut self, take: &mut dyn FnMut(PortId, Instant, &Headers<'_>)) {
        let _ = take;
    }

    /// Sends a frame on as if it had come by `port`. One that the kernel has no room for is lost,
    /// as on any link, and the return value says so.
    fn send(&mut self, port: PortId, frame: &Frame) -> io::Result<Sent>;

    /// Waits until a frame is there, `until` comes, or somebody calls; at most for as long as the
    /// backend's heartbeat allows.
    fn wait(&mut self, until: Option<Instant>) -> io::Result<()>;

    /// What ends a wait from another thread: the one that is going on, or the next one.
    fn waker(&self) -> Wake;

    /// Tells the kernel side that the loop is alive. Called each time around the loop; where it
    /// stays away for 60 ms, frames go past us.
    fn heartbeat(&mut self, now: Instant);

    /// Looks after the ports: tries whether frames get through them, and mends what it can. Called each
    /// turn of the loop. What is wrong with them now; a backend without any way to find out knows of
    /// nothing.
    fn faults(&mut self, now: Instant) -> &[Fault] {
        let _ = now;
        &[]
    }

    /// Whether frames bypass a loop that does not run or has stepped out. With other backends they wait for
    /// the loop.
    fn can_step_out(&self) -> bool {
        false
    }

    /// Has frames go past us at once, until the next heartbeat. A backend that cannot goes on.
    fn step_out(&mut self) {}

    /// Says what an agent lets pass without asking, as soon as everything that was sent before has
    /// gone on. A backend that can does so, and hands in copies.
    fn allow_bypass(&mut self, bypass: Bypass) {
        let _ = bypass;
    }

    /// Says that agents have no more use for this connection. A backend that can lets both
    /// directions pass from now on, until a new connection opens between the same addresses and
    /// ports. Frames of it that are on their way still come.
    fn set_aside(&mut self, flow: FlowKey) {
        let _ = flow;
    }

    /// Says that a connection that was set aside is to come here again, in both directions.
    fn restore(&mut self, flow: FlowKey) {
        let _ = flow;
    }
}

/// What is wrong with ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// In words, such as `the device lasthop0 is down`.
    pub what: String,
    /// Whether frames that come to us may be lost by it, so that none should.
    pub loses_frames: bool,
}

/// Ends a wait of the [`PacketIo`] that it comes from.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// The longest that [`PacketIo::wait`] waits: a third of what it takes for the heartbeat to go
/// stale.
pub const LONGEST_WAIT: Duration = Duration::from_millis(20);
