//! 802.11 cells as a technology: packets in, packets and fates out.
//!
//! While no agent or observer needs the fates of frames, a cell reports only what the world acts
//! upon: arrivals, and frames that were given up.
//!
//! A station's frame stays among the packets under its key until the cell reports its last fate. When
//! it arrives, the packet itself continues if no agent or observer needs its fate; otherwise a copy
//! does.

mod above;
mod cell;
mod channels;
mod flows;
mod held;
mod queues;
mod station;
mod stations;

use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_packet::Instant;
use lasthop_wifi::{Channel, MacFrame, RawFrame, Receiver, StationId, Wlan};

use crate::accounts::DropCause;
use crate::change::{Change, ChangeError};
use crate::counters::Counters;
use crate::id::{At, LinkId, PortId, WlanId};
use crate::observe::Interest;
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::technology::{Addressee, Admission, Output, Technology};
use crate::transit::Transit;

use cell::Cell;
pub(crate) use channels::CellChannels;
use station::Port;
pub use station::RadioUse;

/// All cells.
#[derive(Default)]
pub(crate) struct Cells {
    all: Vec<Cell>,
    ports: Vec<Place>,
    /// The cell whose event is being passed on.
    current: Option<WlanId>,
    /// A packet that was delayed after its cell, and has reached its node.
    arrived: Option<Output>,
    /// Whether cells that are added report all fates.
    reports_fates: bool,
}

/// Where a port is: from a station of a cell to another one.
#[derive(Clone, Copy)]
struct Place {
    cell: WlanId,
    from: StationId,
    to: StationId,
}

impl Cells {
    pub(crate) fn add(&mut self, wlan: Wlan<CellChannels>, interests: Interest) -> WlanId {
        let id = WlanId::from_index(self.all.len());
        self.all.push(Cell::new(id, wlan, self.reports_fates, interests));
        id
    }

    /// Adds one direction of a link of some delay, which leaves its node by `interface`.
    pub(crate) fn add_port(
        &mut self,
        (link, delay): (LinkId, Duration),
        id: WlanId,
        (from, to): (StationId, StationId),
        interface: usize,
    ) -> PortId {
        let port = PortId::from_index(self.ports.len());
        let cell = self.cell_mut(id);
        let at = (cell.node(from), interface);
        cell.stations_mut().of_mut(from).add_port(to, Port { id: port, link, at, is_watched: false, delay });
        self.ports.push(Place { cell: id, from, to });
        port
    }

    /// A client's port leads to another access point.
    pub(crate) fn redirect(&mut self, port: PortId, to: StationId) {
        let Place { cell, from, to: before } = self.ports[port.index()];
        self.ports[port.index()].to = to;
        let radio = self.cell_mut(cell).stations_mut().of_mut(from);
        if let Some(port) = radio.port(before).copied() {
            radio.add_port(to, port);
        }
    }

    /// The port of one station towards another one.
    pub(crate) fn port(&self, id: WlanId, from: StationId, to: StationId) -> Option<PortId> {
        self.cell(id).stations().port(from, to).map(|port| port.id)
    }

    /// The interface that a port belongs to.
    pub(crate) fn at(&self, port: PortId) -> Option<At> {
        let (cell, from, to) = self.of(port.index());
        Some(cell.stations().port(from, to)?.at)
    }

    /// Whether what came of a cell's event, or of a change of channels, is being passed on.
    pub(crate) const fn are_passing_on(&self) -> bool {
        self.current.is_some()
    }

    /// A station changes its channel. What comes of it is passed on next.
    pub(crate) fn tune(
        &mut self,
        id: WlanId,
        station: StationId,
        channel: Option<Channel>,
        transit: &mut Transit,
    ) {
        let cell = self.cell_mut(id);
        cell.tune(station, channel, transit);
        if cell.has_output() {
            self.current.get_or_insert(id);
        }
    }

    /// A station sends a raw frame. `false`: there is no room for it.
    pub(crate) fn send_raw(
        &mut self,
        id: WlanId,
        from: StationId,
        frame: RawFrame,
        transit: &mut Transit,
    ) -> bool {
        self.cell_mut(id).send_raw(from, frame, transit)
    }

    /// Frames from one station to another wait, at most this many, or no longer with `None`.
    pub(crate) fn hold(
        &mut self,
        id: WlanId,
        (from, to): (StationId, StationId),
        limit: Option<usize>,
        transit: &mut Transit,
    ) {
        match limit {
            Some(limit) => self.cell_mut(id).hold(from, to, limit, transit),
            None => self.cell_mut(id).release(from, to, transit),
        }
    }

    pub(crate) fn cell(&self, id: WlanId) -> &Cell {
        &self.all[id.index()]
    }

    /// As [`Self::cell`].
    pub(crate) fn cell_mut(&mut self, id: WlanId) -> &mut Cell {
        &mut self.all[id.index()]
    }

    /// The cell that a port is in.
    pub(crate) fn cell_of(&self, port: PortId) -> WlanId {
        self.ports[port.index()].cell
    }

    /// The use of the air so far by each station of each cell.
    pub(crate) fn radio_uses(&self, now: Instant) -> Vec<Vec<RadioUse>> {
        self.all.iter().map(|cell| cell.radio_uses(now)).collect()
    }

    /// From now on all cells report when any frame leaves its queue.
    pub(crate) fn report_fates(&mut self) {
        self.reports_fates = true;
        self.all.iter_mut().for_each(Cell::report_fates);
    }

    /// All is carried out that came of the latest event of a cell; whether that has had its next event at once
    /// ([`Cell::goes_on`]).
    #[inline]
    pub(crate) fn goes_on(&mut self, may: bool, transit: &mut Transit) -> bool {
        let Some(id) = self.current else { return false };
        let goes_on = self.cell_mut(id).goes_on(may, transit);
        if !goes_on {
            self.current = None;
        }
        goes_on
    }

    /// A port's cell, and its two stations.
    fn of(&self, port: usize) -> (&Cell, StationId, StationId) {
        let Place { cell, from, to } = self.ports[port];
        (&self.all[cell.index()], from, to)
    }

    /// As [`Self::of`].
    fn of_mut(&mut self, port: usize) -> (&mut Cell, StationId, StationId) {
        let Place { cell, from, to } = self.ports[port];
        (&mut self.all[cell.index()], from, to)
    }
}

impl Technology for Cells {
    fn enqueue(&mut self, port: usize, to: Addressee, key: PacketKey, transit: &mut Transit) -> Admission {
        let Place { cell, from, to: peer } = self.ports[port];
        let to = match to {
            Addressee::Peer => Receiver::Station(peer),
            Addressee::Everyone => Receiver::Broadcast,
        };
        let frame = MacFrame { to, key: key.0, octets: transit.packets().len(key) as u32 };
        // After what is being passed on, its next event is followed anyway.
        let follows = self.current != Some(cell);
        self.all[cell.index()].enqueue(from, frame, follows, transit)
    }

    fn next_displaced(&mut self, port: usize) -> Option<(PacketKey, DropCause)> {
        let (cell, from, _) = self.of_mut(port);
        cell.queues_mut().next_displaced(from)
    }

    fn on_event(&mut self, event: Event, transit: &mut Transit) {
        match event {
            Event::Radio(id) => {
                let had_event = self.cell_mut(id).on_event(transit);
                self.current = had_event.then_some(id);
            }
            Event::RadioArrival(port) => {
                let (cell, at, from) = self.of_mut(port.index());
                self.arrived = cell.arrive(at, from);
            }
            _ => {}
        }
    }

    #[expect(clippy::inline_always, reason = "every frame; measured")]
    #[inline(always)]
    fn poll(&mut self, transit: &mut Transit) -> Option<Output> {
        let Some(id) = self.current else { return self.arrived.take() };
        let cell = &mut self.all[id.index()];
        if !cell.has_output() {
            return None;
        }
        cell.next_output(transit)
    }

    fn would_wait(&self, port: usize, _now: Instant) -> bool {
        let (cell, from, to) = self.of(port);
        cell.wlan().would_wait(from, Receiver::Station(to))
    }

    fn queue(&mut self, port: usize, _now: Instant) -> (usize, u64) {
        let (cell, from, _) = self.of(port);
        cell.queue(from)
    }

    fn queue_of(&self, port: usize) -> usize {
        let (cell, from, _) = self.of(port);
        cell.stations().first_port(from).map_or(port, PortId::index)
    }

    fn broadcasts(&self, port: usize) -> bool {
        self.queue_of(port) == port
    }

    fn withdraw(&mut self, port: usize, transit: &mut Transit) -> Vec<PacketKey> {
        let (cell, from, to) = self.of_mut(port);
        let frames = cell.withdraw(from, to, transit);
        frames.into_iter().map(|frame| PacketKey(frame.key)).collect()
    }

    fn attach_options(&mut self, port: usize, key: PacketKey, octets: u16, now: Instant) -> bool {
        let (cell, from, _) = self.of_mut(port);
        cell.wlan_mut().attach_options(from, key.0, octets, now)
    }

    fn watch(&mut self, port: usize, needs: LinkSenses) {
        let (cell, from, to) = self.of_mut(port);
        cell.watch(from, to, needs);
    }

    fn refuse_frames(&mut self, port: usize, refuse: bool) {
        let (cell, from, _) = self.of_mut(port);
        cell.wlan_mut().refuse_frames(from, refuse);
    }

    fn observe(&mut self, interests: Interest) {
        for cell in &mut self.all {
            cell.observe(interests);
        }
    }

    fn catch_up(&mut self, transit: &mut Transit) {
        for cell in &mut self.all {
            cell.catch_up_channels(transit);
        }
    }

    fn counters(&self) -> Counters {
        self.all.iter().map(Cell::counters).fold(Counters::default(), Counters::plus)
    }

    fn marked(&self) -> Option<u64> {
        self.all.iter().filter_map(|cell| cell.queues().marked()).reduce(|one, other| one + other)
    }

    fn doubled(&self) -> usize {
        self.all.iter().map(|cell| cell.stations().copies()).sum()
    }

    fn can_change(&self, _port: usize, _change: &Change) -> Result<(), ChangeError> {
        Err(ChangeError::Radio)
    }

    fn change(&mut self, _port: usize, _change: &Change, _transit: &mut Transit) {}
}
