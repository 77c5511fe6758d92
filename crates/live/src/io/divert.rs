//! The tc backend: BPF programs at the ports' ingress divert the TCP that is wanted to one TAP device a port, and put back what comes
//! from there.
//!
//! Super-packets, partial checksums, VLAN tags, TTL, bridges and address translation are as without us, because the kernel's stack
//! sees each frame once, on the port that it came in by. What is not wanted never reaches us. When this process ends in whatever way,
//! the devices and the programs vanish with it; when it only hangs, its heartbeat goes stale, and frames pass after 100 ms.
//!
//! Frames are as they are on the wire of their port. Where the gateway translates addresses (MASQUERADE), what comes in from the
//! core is therefore to the gateway's own address and what comes in from the radio is from the client's: every frame arrives, but the two
//! directions of a connection have different [`FlowKey`]s. Frames to the gateway itself are seen, too, unless they are excluded; what
//! it sends is not.

mod heartbeat;
mod program;

use std::io;
use std::os::fd::OwnedFd;

use lasthop_packet::{FlowKey, Instant};
use thiserror::Error;

use super::devices::{Devices, Waker};
use super::{PacketIo, Port, PortId, Selection, Sent};
use crate::device::{Device, DeviceError, Interface, Kind, LARGEST_MTU};
use crate::frame::Frame;
use heartbeat::Heartbeat;
use program::Programs;

pub use program::{Attachment, Counters, ProgramError, is_built};

/// Why frames cannot be diverted.
#[derive(Debug, Error)]
pub enum DivertError {
    /// A port that the configuration names is not there.
    #[error("there is no interface {name}: {error}")]
    NoInterface {
        /// Its name.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// A port without Ethernet, such as a tunnel or a modem in raw IP mode.
    #[error("the interface {name} has no Ethernet header; use the backend with policy routing for it")]
    NotEthernet {
        /// Its name.
        name: String,
    },
    /// A TAP device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The BPF programs.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// What we wait with.
    #[error("cannot make an eventfd: {0}")]
    Wait(#[source] io::Error),
}

/// The tc backend. It belongs to the network namespace of the thread that opened it, and is to be dropped in it.
#[derive(Debug)]
pub struct Divert {
    heartbeat: Heartbeat,
    programs: Programs,
    devices: Devices,
}

impl Divert {
    /// Diverts the selected TCP of these ports from the first heartbeat on. Needs `CAP_NET_ADMIN` and `CAP_BPF` (or root), and a kernel
    /// with `CONFIG_BPF_SYSCALL`, `CONFIG_NET_CLS_BPF`, `CONFIG_NET_SCH_INGRESS` and `CONFIG_TUN`.
    pub fn open(ports: Vec<Port>, selection: &Selection) -> Result<Self, DivertError> {
        Self::open_with(ports, selection, Attachment::Newest)
    }

    /// The same with a choice of how the programs are attached.
    pub fn open_with(ports: Vec<Port>, selection: &Selection, how: Attachment) -> Result<Self, DivertError> {
        let mut programs = Programs::load(selection)?;
        let mut devices = Vec::with_capacity(ports.len());
        for port in &ports {
            let missing = |error| DivertError::NoInterface { name: port.name.clone(), error };
            let interface = Interface::named(&port.name).map_err(missing)?;
            if !interface.is_ethernet().map_err(missing)? {
                return Err(DivertError::NotEthernet { name: port.name.clone() });
            }
            let tap = Device::new("lasthop%d", Kind::Tap)?;
            let tap_interface = tap.bring_up(LARGEST_MTU, true)?;
            programs.join((&port.name, interface.index()), (tap.name(), tap_interface.index()), how)?;
            devices.push(tap);
        }
        let heartbeat = programs.heartbeat()?;
        let ports = ports.into_iter().map(|port| Port { ethernet: true, ..port }).collect();
        let devices = Devices::new(ports, devices).map_err(DivertError::Wait)?;
        Ok(Self { heartbeat, programs, devices })
    }

    /// What the programs have counted.
    pub fn counters(&self) -> Result<Counters, ProgramError> {
        self.programs.counters()
    }

    /// Ends a wait from another thread.
    pub fn waker(&self) -> Waker {
        self.devices.waker()
    }

    /// Has a wait end when this can be read, too.
    pub fn watch(&mut self, file: OwnedFd) {
        self.devices.watch(file);
    }
}

impl Drop for Divert {
    fn drop(&mut self) {
        // What is still to come passes, and what is here already goes on.
        self.heartbeat.stop();
        self.devices.drain();
    }
}

impl PacketIo for Divert {
    fn ports(&self) -> &[Port] {
        self.devices.ports()
    }

    fn receive(&mut self, frames: &mut Vec<(PortId, Frame)>) -> io::Result<()> {
        self.devices.receive(frames)
    }

    fn send(&mut self, port: PortId, frame: &Frame) -> io::Result<Sent> {
        self.devices.send(port, frame)
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        self.devices.wait(until)
    }

    fn heartbeat(&mut self, now: Instant) {
        self.heartbeat.beat(now);
    }

    fn set_aside(&mut self, flow: FlowKey) {
        if let Err(error) = self.programs.set_aside(flow) {
            tracing::debug!(%error, "a flow could not be set aside");
        }
    }
}
