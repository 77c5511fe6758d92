//! The tc backend: BPF programs at the radio interfaces divert the selected TCP to TAP devices, and
//! put back the frames that come from these.
//!
//! Each radio interface has two ports: its egress, which is the core side, and its ingress, which
//! is the radio side. So both directions of a connection have the client's own addresses and the
//! station's own link header, whatever the core side is: routing, a bridge, or address translation
//! (MASQUERADE). The core's interfaces are not touched. A third port receives copies of frames that
//! agents allow to bypass them at the other two ([`Bypass`]); the originals continue in the kernel
//! as without a gateway.
//!
//! Super-packets, partial checksums, VLAN tags, TTL, bridges and address translation work as
//! without a gateway, because the kernel's stack sees each frame once: a frame returns to the hook
//! at which it was taken. Toward the client this is the queueing discipline of the radio interface,
//! reached within the gateway's system call; from the client it is the entry of the stack, through
//! the processor's backlog. Frames that are not selected never reach user space. When the process
//! ends, in whatever way, the devices and the programs vanish with it. When it hangs, its heartbeat
//! becomes stale, and frames pass after 60 ms, those of connections with a bypass after 5 ms.
//!
//! A frame that returns is a new one for the kernel. It loses:
//!
//! - its `mark`, `priority` and traffic-control index, so that a queueing discipline of the radio
//!   interface has to classify by the packet (DSCP, addresses, ports) and not by the mark of a
//!   firewall; Wi-Fi drivers use the DSCP;
//! - the record that it was seen: `tcpdump` on the radio interface and netfilter's `netdev` hooks
//!   there see a diverted frame from the client twice, and `netdev` egress hooks one to the client.
//!
//! Connections of the gateway's own host are not diverted: their frames have a socket, with which
//! TCP limits its queue (TSQ), `fq` paces, and an application gets its transmit timestamps, once
//! each. A frame that leaves without having entered through an interface (`ingress_ifindex`) is the
//! host's own, and from then on both directions of its connection are set aside in the kernel. Only
//! a client's SYN is diverted, because its destination is not known yet. A connection that is
//! redirected to a proxy on the host is the host's own; a connection of a container at an interface
//! of the host (veth) is not.
//!
//! Where agents are to learn the fates of frames from a Wi-Fi driver, frames that return toward a client go to that
//! driver at once (`device/tx_status.rs`), past the queueing discipline of the interface, and each
//! segment of a super-packet is a frame of its own.
//!
//! A connection between two clients of one gateway is seen twice, once next to each client: as two
//! connections, each with the other client on its core side.

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

use lasthop_agent::{Bypass, Fate, Side};
use lasthop_packet::{FlowKey, Instant, Packet};

use super::claim::Claims;
use super::devices::Devices;
use super::health::Health;
use super::poller::Poller;
use super::steering::MAX_WORKERS;
use super::{Fault, PacketIo, Port, PortId, Selection, Sent, Wake};
use crate::device::FrameDevice;
use crate::device::tx_status::TxStatusPath;
use crate::frame::{Frame, Headers};
use crate::radio_probe;
use bypasses::Bypasses;
use lasthop_linux::clock;
use lasthop_linux::device::{Interface, Kind, LARGEST_MTU};
use mapped::Mapped;
use program::Programs;
use ring::Ring;

pub use attach::Attachment;
pub use error::{DivertError, ProgramError};
pub use maps::Counters;

/// The number of ports of each radio interface: two at which frames are taken, and one for copies.
const PORTS: usize = 3;

/// The tc backend. It belongs to the network namespace of the thread that opened it, and must be
/// dropped in it.
#[derive(Debug)]
pub struct Divert {
    /// The time of the packet loop's last heartbeat.
    heartbeat: Mapped,
    bypasses: Bypasses,
    programs: Programs,
    devices: Devices,
    ring: Ring,
    /// Whether frames are to be diverted.
    is_in: bool,
    health: Health,
    /// The faults of radio interfaces in the last round.
    radio_faults: Vec<String>,
    /// Queries from which radio interfaces our programs were removed. Only the first worker has it,
    /// for all workers.
    poller: Option<Poller<Vec<(usize, Side)>>>,
    /// The index of each of these interfaces, with the side on which no program is attached.
    detached: Vec<(usize, Side)>,
    how: Attachment,
    /// The drivers of the radio interfaces, if they report TX status; otherwise none.
    drivers: Vec<String>,
    /// The claims on the radio interfaces. The last field, so that it is dropped last.
    claims: Claims,
}

/// The number of ring records between two heartbeats; they take less than a millisecond.
const BEAT_AFTER: u32 = 1024;

impl Divert {
    /// Claims these radio interfaces, and diverts their selected TCP from the first heartbeat on.
    /// Each interface has three ports. Needs `CAP_NET_ADMIN` and `CAP_BPF` (or root), and a kernel
    /// with `CONFIG_BPF_SYSCALL`, `CONFIG_NET_CLS_BPF`, `CONFIG_NET_SCH_INGRESS` and `CONFIG_TUN`.
    pub fn open(radio: &[String], selection: &Selection) -> Result<Self, DivertError> {
        Self::open_with(radio, selection, Attachment::Newest)
    }

    /// As [`Divert::open`], with a choice of how the programs are attached.
    pub fn open_with(radio: &[String], selection: &Selection, how: Attachment) -> Result<Self, DivertError> {
        Self::over(Claims::take(radio)?, radio, selection, how)
    }

    /// As [`Divert::open_with`], for radio interfaces that are already claimed.
    pub(crate) fn over(
        claims: Claims,
        radio: &[String],
        selection: &Selection,
        how: Attachment,
    ) -> Result<Self, DivertError> {
        let mut divert = Self::prepare(claims, radio, selection, how)?;
        divert.begin(&[], how)?;
        Ok(divert)
    }

    /// As [`Divert::over`], for several workers, 1 to [`MAX_WORKERS`], each with ports of its own:
    /// a client's frames are diverted to its worker ([`worker_of`](super::steering::worker_of)).
    /// `selection.connections` applies to each worker. Once a worker's ports are dropped, its
    /// clients' frames pass; once those of the first worker are dropped, all frames pass.
    pub(crate) fn for_workers(
        workers: usize,
        claims: &Claims,
        radio: &[String],
        selection: &Selection,
        how: Attachment,
    ) -> Result<Vec<Self>, DivertError> {
        let mut first = Self::prepare(claims.clone(), radio, selection, how)?;
        let others =
            (1..workers.min(MAX_WORKERS)).map(|_| Self::prepare(claims.clone(), radio, selection, how));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        first.begin(&others, how)?;
        Ok([first].into_iter().chain(others).collect())
    }

    /// Creates a worker's ports, to which no frames are diverted yet.
    fn prepare(
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
        let mut devices = Devices::new(ports, devices).map_err(DivertError::Wait)?;
        let mut drivers = Vec::new();
        if selection.tx_status {
            for (index, (name, (interface, _))) in radio.iter().zip(&radios).enumerate() {
                drivers.push(radio_probe::driver(name).map_err(DivertError::Driver)?);
                let path = TxStatusPath::open(*interface).map_err(DivertError::TxStatus)?;
                devices.report_fates(index * PORTS, path);
            }
        }
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
            drivers,
            claims,
        })
    }

    /// Starts to divert frames to this worker and the others.
    fn begin(&mut self, others: &[Self], how: Attachment) -> Result<(), DivertError> {
        if !others.is_empty() {
            let others: Vec<&Programs> = others.iter().map(|other| &other.programs).collect();
            self.programs.steer_to(&others)?;
        }
        for port in self.devices.ports().iter().filter(|port| port.copies_of.is_none()) {
            self.programs.divert(port.side, &port.name, how)?;
        }
        let radios = self.devices.ports().iter().step_by(PORTS).map(|port| port.name.clone());
        let query = self.programs.detached(&radios.collect::<Vec<_>>());
        self.poller = Some(Poller::start(query).map_err(DivertError::Thread)?);
        Ok(())
    }

    /// The counters of the programs.
    pub fn counters(&self) -> Result<Counters, ProgramError> {
        self.programs.maps.counters()
    }
}

/// Creates the device of a port of the radio interface with this index.
fn device_of(
    programs: &mut Programs,
    port: &Port,
    interface: u32,
    how: Attachment,
) -> Result<FrameDevice, DivertError> {
    let tap = FrameDevice::new("lasthop%d", Kind::Tap)?;
    let index = tap.bring_up(LARGEST_MTU, true)?.index();
    join(programs, port, interface, index)?;
    programs.restore_from(tap.name(), how)?;
    Ok(tap)
}

/// Connects a port's device to a radio interface, both given by index.
fn join(programs: &mut Programs, port: &Port, interface: u32, tap: u32) -> Result<(), ProgramError> {
    if port.copies_of.is_none() {
        programs.maps.join(port.side, interface, tap)
    } else {
        programs.maps.copy(interface, tap)
    }
}

impl Drop for Divert {
    fn drop(&mut self) {
        // New frames pass, and frames already diverted are forwarded.
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

    fn fates(&mut self, take: &mut dyn FnMut(&Packet, Fate)) {
        self.devices.fates(take);
    }

    fn asked_for_fates(&self) -> Option<u64> {
        (!self.drivers.is_empty()).then(|| self.devices.asked_for())
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
        self.check_health(now);
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

    fn divert_again(&mut self, flow: FlowKey) {
        if let Err(error) = self.programs.maps.divert_again(flow) {
            tracing::debug!(%error, "cannot take a flow back");
        }
    }
}
