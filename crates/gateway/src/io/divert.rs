//! The tc backend: BPF programs at the radio interfaces divert the TCP that is wanted to TAP
//! devices, and put back what comes from there.
//!
//! Each radio interface is two ports: its egress, which is the core's side, and its ingress, which
//! is the radio's. So both directions of a connection have the client's own addresses and the
//! station's own link header, whatever is behind: routing, a bridge, or address translation
//! (MASQUERADE). The core's interfaces are not touched. A third port has copies of what agents let
//! pass at the other two ([`Bypass`]): that goes on in the kernel, as if we were not there.
//!
//! Super-packets, partial checksums, VLAN tags, TTL, bridges and address translation are as without
//! us, because the kernel's stack sees each frame once: a frame goes back to the very hook that it
//! was taken at. Down to the client that is the queueing discipline of the radio interface, reached
//! within our own system call; up from the client it is the stack's entry, by the processor's
//! backlog. What is not wanted never reaches us. When this process ends in whatever way, the
//! devices and the programs vanish with it; when it only hangs, its heartbeat goes stale, and
//! frames pass after 60 ms, those of connections with something let pass after 5.
//!
//! What a frame loses on its way round, for it is a new one in the kernel when it comes back:
//!
//! - its `mark`, `priority` and traffic-control index, so that a queueing discipline of the radio
//!   interface has to classify by the packet (DSCP, addresses, ports) and not by what a firewall
//!   noted; Wi-Fi drivers go by DSCP;
//! - that it was seen: `tcpdump` on the radio interface and netfilter's `netdev` hooks there see a
//!   diverted frame of the way up twice, and `netdev` egress hooks one of the way down.
//!
//! Connections of the gateway's own host are left as they are: their frames have a socket, by which
//! TCP limits its queue (TSQ), `fq` paces, and an application gets its transmit timestamps, once
//! each. A frame that goes out and came in by no interface (`ingress_ifindex`) is the host's own,
//! and from then on both directions of its connection are set aside in the kernel. Only a client's
//! SYN comes to user space, which cannot know yet for whom it is. A connection that is redirected
//! to a proxy on the host is the host's own; one of a container behind an interface of the host
//! (veth) is not.
//!
//! Between two clients of one gateway a connection is seen twice, once next to each: as two
//! connections, each with the other client for its core.

mod attach;
mod bypasses;
mod error;
mod layout;
mod mapped;
mod maps;
mod mend;
mod program;
mod ring;
mod tryout;

use std::io;

use lasthop_agent::{Bypass, Side};
use lasthop_packet::{FlowKey, Instant};

use super::claim::Claims;
use super::devices::Devices;
use super::health::Health;
use super::poller::Poller;
use super::steering::MOST_WORKERS;
use super::{Fault, PacketIo, Port, PortId, Selection, Sent, Wake};
use crate::device::FrameDevice;
use crate::frame::{Frame, Headers};
use bypasses::Bypasses;
use lasthop_linux::clock;
use lasthop_linux::device::{Interface, Kind, LARGEST_MTU};
use mapped::Mapped;
use program::Programs;
use ring::Ring;

pub use attach::Attachment;
pub use error::{DivertError, ProgramError};
pub use maps::Counters;

/// Ports of each radio interface: two that frames are taken at, and one for copies.
const PORTS: usize = 3;

/// The tc backend. It belongs to the network namespace of the thread that opened it, and is to be
/// dropped in it.
#[derive(Debug)]
pub struct Divert {
    /// When the packet loop was last alive.
    heartbeat: Mapped,
    bypasses: Bypasses,
    programs: Programs,
    devices: Devices,
    ring: Ring,
    /// Whether frames are to come to us.
    is_in: bool,
    health: Health,
    /// What is wrong with radio interfaces, as of the last round.
    radio_faults: Vec<String>,
    /// Asks the kernel from which radio interfaces our programs were removed. The first worker has it, for
    /// all of them.
    poller: Option<Poller<Vec<(usize, Side)>>>,
    /// The place of each of these interfaces, with the side from which no frames are taken there.
    detached: Vec<(usize, Side)>,
    how: Attachment,
    /// The radio interfaces; free again behind all the rest.
    claims: Claims,
}

/// So many records of the ring take less than a millisecond.
const BEAT_AFTER: u32 = 1024;

impl Divert {
    /// Claims these radio interfaces and diverts the selected TCP of them from the first heartbeat
    /// on; each becomes three ports. Needs `CAP_NET_ADMIN` and `CAP_BPF` (or root), and a kernel
    /// with `CONFIG_BPF_SYSCALL`, `CONFIG_NET_CLS_BPF`, `CONFIG_NET_SCH_INGRESS` and `CONFIG_TUN`.
    pub fn open(radio: &[String], selection: &Selection) -> Result<Self, DivertError> {
        Self::open_with(radio, selection, Attachment::Newest)
    }

    /// The same with a choice of how the programs are attached.
    pub fn open_with(radio: &[String], selection: &Selection, how: Attachment) -> Result<Self, DivertError> {
        Self::over(Claims::take(radio)?, radio, selection, how)
    }

    /// The same over radio interfaces that are claimed already.
    pub(crate) fn over(
        claims: Claims,
        radio: &[String],
        selection: &Selection,
        how: Attachment,
    ) -> Result<Self, DivertError> {
        let mut divert = Self::beside(claims, radio, selection, how)?;
        divert.begin(&[], how)?;
        Ok(divert)
    }

    /// The same for several workers, 1 to [`MOST_WORKERS`], each with ports of its own: a client's
    /// frames come to the worker that has it ([`worker_of`](super::steering::worker_of)). `selection.connections` is
    /// for each worker. Once a worker's ports are dropped its clients' frames pass; once the first's
    /// are, everybody's do.
    pub(crate) fn for_workers(
        workers: usize,
        claims: &Claims,
        radio: &[String],
        selection: &Selection,
        how: Attachment,
    ) -> Result<Vec<Self>, DivertError> {
        let mut first = Self::beside(claims.clone(), radio, selection, how)?;
        let others =
            (1..workers.min(MOST_WORKERS)).map(|_| Self::beside(claims.clone(), radio, selection, how));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        first.begin(&others, how)?;
        Ok([first].into_iter().chain(others).collect())
    }

    /// A worker's ports, to which nothing comes yet.
    fn beside(
        claims: Claims,
        radio: &[String],
        selection: &Selection,
        how: Attachment,
    ) -> Result<Self, DivertError> {
        let (mut programs, records) = Programs::load(selection)?;
        let (mut ports, mut devices, mut radios) = (Vec::new(), Vec::new(), Vec::new());
        for name in radio {
            let unclear = |error| DivertError::Interface { name: name.clone(), error };
            let interface = Interface::named(name).map_err(unclear)?;
            if !interface.is_ethernet().map_err(unclear)? {
                return Err(DivertError::NotEthernet { name: name.clone() });
            }
            let first = ports.len() as u16;
            let passed_at = [first, first + 1].map(PortId);
            for (side, copies_of) in [(Side::Core, None), (Side::Radio, None), (Side::Core, Some(passed_at))]
            {
                let port = Port { name: name.clone(), side, ethernet: true, copies_of };
                devices.push(device_of(&mut programs, &port, interface.index(), how)?);
                ports.push(port);
            }
            radios.push((interface.index(), passed_at));
        }
        let heartbeat = programs.maps.share_heartbeat()?;
        let bypasses = Bypasses::new(&programs.maps)?;
        let devices = Devices::new(ports, devices).map_err(DivertError::Wait)?;
        let ring = Ring::new(records, radios).map_err(DivertError::Wait)?;
        let health = Health::new(clock::now());
        Ok(Self {
            heartbeat,
            bypasses,
            programs,
            devices,
            ring,
            is_in: false,
            health,
            radio_faults: Vec::new(),
            poller: None,
            detached: Vec::new(),
            how,
            claims,
        })
    }

    /// Has frames come to us, and to the other workers if there are any.
    fn begin(&mut self, others: &[Self], how: Attachment) -> Result<(), DivertError> {
        if !others.is_empty() {
            let others: Vec<&Programs> = others.iter().map(|other| &other.programs).collect();
            self.programs.lead_to(&others)?;
        }
        for port in self.devices.ports().iter().filter(|port| port.copies_of.is_none()) {
            self.programs.divert(port.side, &port.name, how)?;
        }
        let radios = self.devices.ports().iter().step_by(PORTS).map(|port| port.name.clone());
        let question = self.programs.detached(radios.collect());
        self.poller = Some(Poller::start(question).map_err(DivertError::Thread)?);
        Ok(())
    }

    /// What the programs have counted.
    pub fn counters(&self) -> Result<Counters, ProgramError> {
        self.programs.maps.counters()
    }
}

/// Makes the device of a port of the radio interface with this number.
fn device_of(
    programs: &mut Programs,
    port: &Port,
    interface: u32,
    how: Attachment,
) -> Result<FrameDevice, DivertError> {
    let tap = FrameDevice::new("lasthop%d", Kind::Tap)?;
    let index = tap.bring_up(LARGEST_MTU, true)?.index();
    join(programs, port, interface, index)?;
    programs.restore(tap.name(), how)?;
    Ok(tap)
}

/// Joins a port's device to a radio interface. Both are numbers.
fn join(programs: &mut Programs, port: &Port, interface: u32, tap: u32) -> Result<(), ProgramError> {
    if port.copies_of.is_none() {
        programs.maps.join(port.side, interface, tap)
    } else {
        programs.maps.copy(interface, tap)
    }
}

impl Drop for Divert {
    fn drop(&mut self) {
        // What is still to come passes, and what is here already goes on.
        self.heartbeat.store(0, 0);
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

    fn passed(&mut self, take: &mut dyn FnMut(PortId, Instant, &Headers<'_>)) {
        let mut records = 0_u32;
        self.ring.take(&mut |port, at, headers| {
            take(port, at, headers);
            records += 1;
            if self.is_in && records.is_multiple_of(BEAT_AFTER) {
                self.heartbeat.store(0, clock::now().as_nanos());
            }
        });
    }

    fn send(&mut self, port: PortId, frame: &Frame) -> io::Result<Sent> {
        self.devices.send(port, frame)
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        if self.devices.wait(until, Some(self.ring.alarm()))? {
            self.ring.clear_alarm();
        }
        Ok(())
    }

    fn waker(&self) -> Wake {
        self.devices.waker()
    }

    fn heartbeat(&mut self, now: Instant) {
        self.is_in = true;
        self.heartbeat.store(0, now.as_nanos());
    }

    fn faults(&mut self, now: Instant) -> &[Fault] {
        self.look_after(now);
        &self.health.faults
    }

    fn can_step_out(&self) -> bool {
        true
    }

    fn step_out(&mut self) {
        self.is_in = false;
        self.heartbeat.store(0, 0);
    }

    fn allow_bypass(&mut self, bypass: Bypass) {
        if let Err(error) = self.bypasses.follow(bypass, &mut self.programs.maps) {
            tracing::debug!(%error, "cannot update a bypass");
        }
    }

    fn set_aside(&mut self, flow: FlowKey) {
        if let Err(error) = self.programs.maps.set_aside(flow) {
            tracing::debug!(%error, "cannot set a flow aside");
        }
    }

    fn restore(&mut self, flow: FlowKey) {
        if let Err(error) = self.programs.maps.restore(flow) {
            tracing::debug!(%error, "cannot take a flow back");
        }
    }
}
