//! 802.11 cells as a technology: packets in, packets and fates out.
//!
//! A station's frame stays among the parcels under its key until the cell tells its last fate. When
//! it arrives, the parcel itself goes on if nothing wants to hear of it any more; otherwise a copy
//! does.

mod outputs;
mod station;

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_packet::Instant;

use crate::accounts::DropCause;
use crate::change::{Change, ChangeError};
use crate::id::{LinkId, NodeId, PortId, StationId, WlanId};
use crate::observe::Interest;
use crate::parcel::ParcelKey;
use crate::schedule::{Event, LazyTimer};
use crate::technology::{Addressee, Admission, At, Output, Technology};
use crate::transit::Transit;
use crate::wifi::{ErrorConfig, MacFrame, Position, Receiver, StationConfig, Wlan, WlanCounters};

use outputs::Step;
use station::Radio;
pub use station::RadioUse;

/// All cells.
#[derive(Default)]
pub(crate) struct Cells {
    cells: Vec<Cell>,
    ports: Vec<Port>,
    /// What is still to be done after an event.
    steps: VecDeque<Step>,
}

/// A cell, and which nodes its stations belong to.
struct Cell {
    wlan: Wlan,
    /// Whether an agent hears of each transmission.
    has_attentive_agent: bool,
    timer: LazyTimer,
    stations: Vec<Radio>,
    /// What was counted when the counts were last passed on.
    counted: WlanCounters,
}

/// One direction of a link in a cell.
#[derive(Clone, Copy, Debug)]
struct Port {
    link: LinkId,
    cell: WlanId,
    from: StationId,
    to: StationId,
    at: At,
    /// It is the first of its station's.
    is_first: bool,
    /// Whether an agent watches its interface.
    is_watched: bool,
}

impl Cells {
    pub(crate) fn add(&mut self, mut wlan: Wlan, interests: Interest) -> WlanId {
        wlan.tell_attempts(interests.contains(Interest::FRAMES));
        self.cells.push(Cell {
            wlan,
            has_attentive_agent: false,
            timer: LazyTimer::default(),
            stations: Vec::new(),
            counted: WlanCounters::default(),
        });
        WlanId::of(self.cells.len() - 1)
    }

    pub(crate) fn add_station(&mut self, id: WlanId, node: NodeId, config: &StationConfig) -> StationId {
        let cell = &mut self.cells[id.index()];
        cell.stations.push(Radio::new(node));
        cell.wlan.add_station(config)
    }

    /// Adds one direction of a link, which leaves its node by `interface`.
    pub(crate) fn add_port(
        &mut self,
        link: LinkId,
        cell: WlanId,
        (from, to): (StationId, StationId),
        interface: usize,
    ) -> PortId {
        let port = PortId::of(self.ports.len());
        let radio = &mut self.cells[cell.index()].stations[from.index()];
        let (at, is_first) = ((radio.node, interface), radio.add_port(to, port));
        self.ports.push(Port { link, cell, from, to, at, is_first, is_watched: false });
        port
    }

    pub(crate) fn wlan(&self, id: WlanId) -> &Wlan {
        &self.cells[id.index()].wlan
    }

    pub(crate) fn node(&self, id: WlanId, station: StationId) -> NodeId {
        self.cells[id.index()].stations[station.index()].node
    }

    pub(crate) fn cell_of(&self, port: PortId) -> WlanId {
        self.ports[port.index()].cell
    }

    pub(crate) fn radio_use(&self, id: WlanId, station: StationId) -> RadioUse {
        self.cells[id.index()].stations[station.index()].used
    }

    pub(crate) fn set_errors(&mut self, id: WlanId, from: StationId, to: StationId, config: ErrorConfig) {
        self.cells[id.index()].wlan.set_errors(from, to, config);
    }

    /// Stations are going to move.
    pub(crate) fn expect_moves(&mut self, id: WlanId) {
        self.cells[id.index()].wlan.expect_moves();
    }

    pub(crate) fn move_stations(
        &mut self,
        id: WlanId,
        positions: &[(StationId, Position)],
        transit: &mut Transit,
    ) {
        let cell = &mut self.cells[id.index()];
        cell.wlan.move_stations(transit.now, positions);
        cell.follow(id, transit);
    }

    fn port(&self, id: WlanId, from: StationId, to: StationId) -> Option<Port> {
        let port = self.cells[id.index()].stations[from.index()].port(to)?;
        Some(self.ports[port.index()])
    }

    /// The port through which a frame went. A broadcast went through none.
    fn port_of(&self, id: WlanId, from: StationId, frame: MacFrame) -> Option<Port> {
        match frame.to {
            Receiver::Station(to) => self.port(id, from, to),
            Receiver::Broadcast => None,
        }
    }
}

impl Cell {
    /// Follows the time of its next event.
    fn follow(&mut self, id: WlanId, transit: &mut Transit) {
        self.timer.follow(self.wlan.next_event_at(), Event::Radio(id), &mut transit.schedule);
    }
}

impl Technology for Cells {
    fn enqueue(&mut self, port: usize, to: Addressee, key: ParcelKey, transit: &mut Transit) -> Admission {
        let Port { cell: id, from, to: peer, .. } = self.ports[port];
        let to = match to {
            Addressee::Peer => Receiver::Station(peer),
            Addressee::Everyone => Receiver::Broadcast,
        };
        let frame = MacFrame { to, key: key.0, octets: transit.parcels[key].len() as u32 };
        let cell = &mut self.cells[id.index()];
        if !cell.wlan.enqueue(transit.now, from, frame) {
            return Admission::Dropped(DropCause::QueueFull);
        }
        cell.follow(id, transit);
        if cell.wlan.head(from) == Some(frame) {
            Admission::Departs(Duration::ZERO)
        } else {
            Admission::Queued
        }
    }

    fn on_event(&mut self, event: Event, transit: &mut Transit) {
        if let Event::Radio(id) = event {
            self.on_cell_event(id, transit);
        }
    }

    fn poll(&mut self, transit: &mut Transit) -> Option<Output> {
        while let Some(step) = self.steps.pop_front() {
            let output = self.take_step(step, transit);
            if output.is_some() {
                return output;
            }
        }
        None
    }

    fn would_wait(&self, port: usize, _now: Instant) -> bool {
        let Port { cell, from, .. } = self.ports[port];
        self.cells[cell.index()].wlan.has_frame(from)
    }

    fn queue(&mut self, port: usize, _now: Instant) -> (usize, u64) {
        let Port { cell, from, .. } = self.ports[port];
        self.cells[cell.index()].wlan.waiting(from)
    }

    fn owns_queue(&self, port: usize) -> bool {
        self.ports[port].is_first
    }

    fn broadcasts(&self, port: usize) -> bool {
        self.ports[port].is_first
    }

    fn withdraw(&mut self, port: usize) -> Vec<ParcelKey> {
        let Port { cell, from, to, .. } = self.ports[port];
        let frames = self.cells[cell.index()].wlan.withdraw(from, to);
        frames.into_iter().map(|frame| ParcelKey(frame.key)).collect()
    }

    fn watch(&mut self, port: usize, needs: LinkSenses) {
        self.ports[port].is_watched = true;
        if needs.contains(LinkSenses::ATTEMPTS) {
            let cell = &mut self.cells[self.ports[port].cell.index()];
            cell.has_attentive_agent = true;
            cell.wlan.tell_attempts(true);
        }
    }

    fn observe(&mut self, interests: Interest) {
        let frames = interests.contains(Interest::FRAMES);
        for cell in &mut self.cells {
            cell.wlan.tell_attempts(frames || cell.has_attentive_agent);
        }
    }

    fn doubled(&self) -> usize {
        self.cells.iter().flat_map(|cell| &cell.stations).filter(|radio| radio.has_copy()).count()
    }

    fn can_change(&self, _port: usize, _change: &Change) -> Result<(), ChangeError> {
        Err(ChangeError::Radio)
    }

    fn change(&mut self, _port: usize, _change: &Change, _transit: &mut Transit) {}
}
