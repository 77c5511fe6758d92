//! 802.11 cells at work: packets in, packets out, fates to agents.
//!
//! A station's frame stays in the world's arena under its key until the cell tells its last fate.
//! When it arrives, the parcel itself goes on if nobody wants to hear of it any more; otherwise a
//! copy does.

mod outputs;

use std::time::Duration;

use super::movement::Movement;
use super::{Egress, World};
use crate::accounts::DropCause;
use crate::id::{LinkId, NodeId, PortId, StationId, WlanId};
use crate::observe::Interest;
use crate::parcel::ParcelKey;
use crate::schedule::{Event, LazyTimer};
use crate::wifi::{ErrorConfig, MacFrame, Position, Receiver, StationConfig, Wlan, WlanConfig, WlanCounters};

/// A cell, and which nodes its stations belong to.
pub(super) struct Cell {
    pub(super) wlan: Wlan,
    pub(super) movement: Option<Box<Movement>>,
    /// Whether an agent hears of each transmission.
    pub(super) has_attentive_agent: bool,
    timer: LazyTimer,
    stations: Vec<Radio>,
    /// What was counted when somebody last looked.
    counted: WlanCounters,
}

struct Radio {
    node: NodeId,
    /// The port towards each other station, if there is a link.
    ports: Vec<Option<PortId>>,
    /// The number of the frame at the head of its queue.
    number: u32,
    arrival: Arrival,
    used: RadioUse,
}

/// What a station has had of the air so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioUse {
    /// Frames whose last fate it knows: delivered, or given up.
    pub frames: u64,
    /// Their transmissions.
    pub transmissions: u64,
    /// Of the frames, those that were given up.
    pub given_up: u64,
    /// The time that it transmitted for them: data frames, RTS and CTS-to-self, those that failed
    /// among them. Others' CTS and ACK, and the spaces between frames, are not in it.
    pub air_time: Duration,
    /// The time that they were at the head of its queue before their first transmission.
    pub access: Duration,
}

/// What has become of the packet at the head of a station's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    NotYet,
    /// It has gone on.
    Moved,
    /// A copy has gone on.
    Copied,
}

/// One direction of a link in a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub(super) link: LinkId,
    cell: WlanId,
    from: StationId,
    to: StationId,
    /// Index of its interface at its node.
    interface: usize,
    /// It is the first of its station's.
    pub(super) is_first: bool,
}

impl Cell {
    /// Packets that are in the arena twice.
    pub(super) fn doubled(&self) -> usize {
        self.stations.iter().filter(|radio| radio.arrival == Arrival::Copied).count()
    }
}

impl World {
    /// Adds an 802.11 cell. Its name is that of its streams of randomness.
    pub fn add_wlan(&mut self, name: &str, config: WlanConfig) -> WlanId {
        let seed = self.stream(&format!("wlan {name}")).next_u64();
        let mut wlan = Wlan::new(config, seed);
        wlan.tell_attempts(self.wants(Interest::FRAMES));
        self.cells.push(Cell {
            wlan,
            movement: None,
            has_attentive_agent: false,
            timer: LazyTimer::default(),
            stations: Vec::new(),
            counted: WlanCounters::default(),
        });
        WlanId::of(self.cells.len() - 1)
    }

    /// Gives a node a radio in a cell, before the cell's first frame. An access point is a station
    /// like any other here: what makes it one is that the links of the others lead to it.
    pub fn add_station(&mut self, wlan: WlanId, node: NodeId, config: &StationConfig) -> StationId {
        let cell = &mut self.cells[wlan.index()];
        cell.stations.push(Radio {
            node,
            ports: Vec::new(),
            number: 0,
            arrival: Arrival::NotYet,
            used: RadioUse::default(),
        });
        cell.wlan.add_station(config)
    }

    /// Joins two stations' nodes by a link over the air. In an infrastructure network there is one
    /// between the access point and each station, so that stations reach each other through it; in
    /// an ad hoc network one between each pair that may talk.
    pub fn add_radio_link(
        &mut self,
        name: &str,
        wlan: WlanId,
        first: StationId,
        second: StationId,
    ) -> LinkId {
        let node =
            |world: &Self, station: StationId| world.cells[wlan.index()].stations[station.index()].node;
        let ends = (node(self, first), node(self, second));
        let link = self.add_link(name, ends, WlanConfig::SENSES);
        for (from, to) in [(first, second), (second, first)] {
            let node = node(self, from);
            let port = PortId::of(self.ports.len());
            let interface = self.nodes[node.index()].interfaces.len();
            let ports = &mut self.cells[wlan.index()].stations[from.index()].ports;
            let is_first = ports.is_empty();
            if ports.len() <= to.index() {
                ports.resize(to.index() + 1, None);
            }
            ports[to.index()] = Some(port);
            self.ports.push(Port { link, cell: wlan, from, to, interface, is_first });
            self.add_interface(node, link, Egress::Radio(port));
        }
        link
    }

    /// Gives one direction of a link in a cell an error process of its own.
    pub fn set_radio_errors(&mut self, wlan: WlanId, from: StationId, to: StationId, config: ErrorConfig) {
        self.cells[wlan.index()].wlan.set_errors(from, to, config);
    }

    /// Stations of a cell are at other places from now on.
    pub fn move_stations(&mut self, wlan: WlanId, positions: &[(StationId, Position)]) {
        let cell = &mut self.cells[wlan.index()];
        cell.wlan.move_stations(self.now, positions);
        cell.timer.follow(cell.wlan.next_event_at(), Event::Radio(wlan), &mut self.schedule);
    }

    /// A cell as it stands.
    pub fn wlan(&self, wlan: WlanId) -> &Wlan {
        &self.cells[wlan.index()].wlan
    }

    /// What a station has had of the air so far.
    pub fn radio_use(&self, wlan: WlanId, station: StationId) -> RadioUse {
        self.cells[wlan.index()].stations[station.index()].used
    }

    pub(super) fn transmit_by_radio(&mut self, node: NodeId, port: PortId, key: ParcelKey) {
        let Port { cell: id, from, to, .. } = self.ports[port.index()];
        self.enqueue_frame(node, (id, from), Receiver::Station(to), key);
    }

    /// A parcel leaves as one frame for everybody who hears the station of this port.
    pub(super) fn broadcast_by_radio(&mut self, node: NodeId, port: PortId, key: ParcelKey) {
        let Port { cell, from, .. } = self.ports[port.index()];
        self.enqueue_frame(node, (cell, from), Receiver::Broadcast, key);
    }

    fn enqueue_frame(&mut self, node: NodeId, (id, from): (WlanId, StationId), to: Receiver, key: ParcelKey) {
        let frame = MacFrame { to, key: key.0, octets: self.parcels[key].len() as u32 };
        let cell = &mut self.cells[id.index()];
        if cell.wlan.enqueue(self.now, from, frame) {
            cell.timer.follow(cell.wlan.next_event_at(), Event::Radio(id), &mut self.schedule);
            if cell.wlan.head(from) == Some(frame) {
                self.left_queue(node, key, Duration::ZERO);
            }
        } else {
            self.drop_parcel(node, key, DropCause::QueueFull);
        }
    }

    pub(super) fn tell_attempts_to_agents(&mut self, port: PortId) {
        let cell = &mut self.cells[self.ports[port.index()].cell.index()];
        cell.has_attentive_agent = true;
        cell.wlan.tell_attempts(true);
    }

    pub(super) fn radio_has_frame(&self, port: PortId) -> bool {
        let Port { cell, from, .. } = self.ports[port.index()];
        self.cells[cell.index()].wlan.has_frame(from)
    }

    pub(super) fn radio_queue(&self, port: PortId) -> (usize, u64) {
        let Port { cell, from, .. } = self.ports[port.index()];
        self.cells[cell.index()].wlan.waiting(from)
    }

    pub(super) fn station_node(&self, wlan: WlanId, station: StationId) -> NodeId {
        self.cells[wlan.index()].stations[station.index()].node
    }

    pub(super) fn is_of_cell(&self, port: PortId, wlan: WlanId) -> bool {
        self.ports[port.index()].cell == wlan
    }

    fn port(&self, id: WlanId, from: StationId, to: StationId) -> Option<Port> {
        let radio = &self.cells[id.index()].stations[from.index()];
        radio.ports.get(to.index()).copied().flatten().map(|port| self.ports[port.index()])
    }

    /// The port through which a frame went.
    fn port_of(&self, id: WlanId, from: StationId, frame: MacFrame) -> Option<Port> {
        match frame.to {
            Receiver::Station(to) => self.port(id, from, to),
            Receiver::Broadcast => None,
        }
    }
}
