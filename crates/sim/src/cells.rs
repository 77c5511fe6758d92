//! 802.11 cells as a technology: packets in, packets and fates out.
//!
//! While no agent or observer needs the fates of frames, a cell tells no more than what the world has to act
//! upon: arrivals, and frames that were given up.
//!
//! A station's frame stays among the packets under its key until the cell tells its last fate. When
//! it arrives, the packet itself goes on if nothing wants to hear of it any more; otherwise a copy
//! does.

mod channel;
mod delayed;
mod flows;
mod outputs;
mod rest;
mod station;

use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_packet::Instant;
use lasthop_wifi::{
    ErrorConfig, MacFrame, Position, PowerSaveConfig, Receiver, Scheduler, StationConfig, StationId, Wlan,
};

use crate::accounts::DropCause;
use crate::change::{Change, ChangeError};
use crate::counters::Counters;
use crate::id::{LinkId, NodeId, PortId, WlanId};
use crate::observe::Interest;
use crate::packets::PacketKey;
use crate::schedule::{Event, LazyTimer};
use crate::technology::{Addressee, Admission, At, Output, Technology};
use crate::transit::Transit;

use delayed::Delayed;
use flows::Turns;
use rest::{OF_FATES, Rest, SentFrame};
use station::Radio;
pub use station::RadioUse;

/// All cells.
#[derive(Default)]
pub(crate) struct Cells {
    all: Vec<Cell>,
    ports: Vec<Port>,
    /// The cell whose event is being passed on.
    current: Option<WlanId>,
    /// What still follows from the fate that it told last.
    rest: Option<(Rest, SentFrame)>,
    /// Where flows take turns.
    turns: Turns,
    /// What has come through a cell and has not reached its node.
    delayed: Delayed,
    /// Whether cells that are added tell all fates.
    tells_fates: bool,
}

/// A cell, and which nodes its stations belong to.
struct Cell {
    wlan: Wlan,
    /// Whether an agent hears of each transmission.
    has_attentive_agent: bool,
    timer: LazyTimer,
    stations: Vec<Radio>,
}

/// One direction of a link in a cell.
#[derive(Clone, Copy, Debug)]
struct Port {
    link: LinkId,
    cell: WlanId,
    from: StationId,
    to: StationId,
    at: At,
    /// Whether an agent watches its interface.
    is_watched: bool,
    /// How long what has come through it is on its way to the node at its other end.
    delay: Duration,
}

impl Cells {
    pub(crate) fn add(&mut self, mut wlan: Wlan, interests: Interest) -> WlanId {
        wlan.tell_attempts(interests.contains(Interest::FRAMES));
        wlan.tell_fates(self.tells_fates || interests.intersects(OF_FATES));
        self.all.push(Cell {
            wlan,
            has_attentive_agent: false,
            timer: LazyTimer::default(),
            stations: Vec::new(),
        });
        WlanId::of(self.all.len() - 1)
    }

    pub(crate) fn add_station(&mut self, id: WlanId, node: NodeId, config: &StationConfig) -> StationId {
        let cell = &mut self.all[id.index()];
        let has_turns = config.scheduler == Scheduler::PerReceiver;
        if has_turns {
            cell.tell_fates();
        }
        cell.stations.push(Radio::new(node, has_turns));
        cell.wlan.add_station(config)
    }

    /// Adds one direction of a link of some delay, which leaves its node by `interface`.
    pub(crate) fn add_port(
        &mut self,
        (link, delay): (LinkId, Duration),
        cell: WlanId,
        (from, to): (StationId, StationId),
        interface: usize,
    ) -> PortId {
        let port = PortId::of(self.ports.len());
        let radio = &mut self.all[cell.index()].stations[from.index()];
        let at = (radio.node(), interface);
        radio.add_port(to, port);
        self.ports.push(Port { link, cell, from, to, at, is_watched: false, delay });
        port
    }

    pub(crate) fn wlan(&self, id: WlanId) -> &Wlan {
        &self.all[id.index()].wlan
    }

    pub(crate) fn node(&self, id: WlanId, station: StationId) -> NodeId {
        self.all[id.index()].stations[station.index()].node()
    }

    pub(crate) fn cell_of(&self, port: PortId) -> WlanId {
        self.ports[port.index()].cell
    }

    pub(crate) fn radio_use(&self, id: WlanId, station: StationId, now: Instant) -> RadioUse {
        let wlan = &self.all[id.index()].wlan;
        let awake = wlan.awake_time(station, now).map(Duration::from_nanos);
        RadioUse::new(wlan.used(station), awake)
    }

    /// What each station of each cell has had of the air so far.
    pub(crate) fn radio_uses(&self, now: Instant) -> Vec<Vec<RadioUse>> {
        let of_cell = |(cell, stations): (usize, usize)| {
            let stations = (0..stations).map(StationId::from_index);
            stations.map(|station| self.radio_use(WlanId::of(cell), station, now)).collect()
        };
        self.all.iter().map(|cell| cell.stations.len()).enumerate().map(of_cell).collect()
    }

    /// Gives a cell power save, after its last station.
    pub(crate) fn save_power(
        &mut self,
        id: WlanId,
        access_point: StationId,
        stations: &[StationId],
        config: PowerSaveConfig,
        transit: &mut Transit,
    ) {
        let cell = &mut self.all[id.index()];
        cell.wlan.save_power(access_point, stations, config);
        cell.follow(id, transit);
    }

    pub(crate) fn set_errors(&mut self, id: WlanId, from: StationId, to: StationId, config: ErrorConfig) {
        self.all[id.index()].wlan.set_errors(from, to, config);
    }

    /// From now on the times of each data frame that arrives are told.
    pub(crate) fn tell_transmissions(&mut self, id: WlanId) {
        self.all[id.index()].wlan.tell_transmissions(true);
    }

    /// Stations are going to move.
    pub(crate) fn expect_moves(&mut self, id: WlanId) {
        self.all[id.index()].wlan.expect_moves();
    }

    pub(crate) fn move_stations(
        &mut self,
        id: WlanId,
        positions: &[(StationId, Position)],
        transit: &mut Transit,
    ) {
        let cell = &mut self.all[id.index()];
        cell.wlan.move_stations(transit.now(), positions);
        cell.follow(id, transit);
    }

    /// From now on somebody wants to know when any frame leaves its queue.
    pub(crate) fn tell_fates(&mut self) {
        self.tells_fates = true;
        self.all.iter_mut().for_each(Cell::tell_fates);
    }

    #[inline]
    fn port(&self, id: WlanId, from: StationId, to: StationId) -> Option<&Port> {
        let port = self.all[id.index()].stations[from.index()].port(to)?;
        self.ports.get(port.index())
    }

    /// The port through which a frame went. A broadcast went through none.
    #[inline]
    fn port_of(&self, id: WlanId, from: StationId, frame: MacFrame) -> Option<&Port> {
        match frame.to {
            Receiver::Station(to) => self.port(id, from, to),
            Receiver::Broadcast => None,
        }
    }
}

impl Cell {
    /// Does what is due, and what would be next of all events to come, until there is something to tell.
    #[inline]
    fn go_on(&mut self, transit: &mut Transit) {
        let (last, later) = self.wlan.go_on(transit.now(), transit.horizon());
        transit.skip_to(last, later);
    }

    /// From now on all fates are told: what a station's node knows of its frames is brought to the
    /// present, and kept there.
    fn tell_fates(&mut self) {
        if self.wlan.tells_fates() {
            return;
        }
        self.wlan.tell_fates(true);
        for (index, radio) in self.stations.iter_mut().enumerate() {
            let station = StationId::from_index(index);
            // Where receivers take turns fates have been told from the start.
            let hand = radio.only_hand();
            let head = self.wlan.head(station).map(|head| PacketKey(head.key));
            hand.catch_up(self.wlan.used(station).frames, head);
            if self.wlan.head_has_arrived(station) {
                hand.has_arrived();
            }
        }
    }

    /// Follows the time of its next event.
    fn follow(&mut self, id: WlanId, transit: &mut Transit) {
        transit.follow(&mut self.timer, self.wlan.next_event_at(), Event::Radio(id));
    }
}

impl Technology for Cells {
    fn enqueue(&mut self, port: usize, to: Addressee, key: PacketKey, transit: &mut Transit) -> Admission {
        let Port { cell: id, from, to: peer, .. } = self.ports[port];
        let to = match to {
            Addressee::Peer => Receiver::Station(peer),
            Addressee::Everyone => Receiver::Broadcast,
        };
        let frame = MacFrame { to, key: key.0, octets: transit.packets().len(key) as u32 };
        let cell = &mut self.all[id.index()];
        let admission = if cell.wlan.takes_turns(from) {
            self.turns.enqueue(&mut cell.wlan, from, frame, transit)
        } else if cell.wlan.enqueue(transit.now(), from, frame) {
            Admission::Queued
        } else {
            Admission::Dropped(DropCause::QueueFull)
        };
        if let Admission::Dropped(_) = admission {
            return admission;
        }
        // After what is being passed on its time is followed anyway.
        if self.current != Some(id) {
            cell.follow(id, transit);
        }
        if cell.wlan.head(from) != Some(frame) {
            return admission;
        }
        cell.stations[from.index()].hand_mut(to).depart(key);
        self.packet_begins(id, from, frame, transit);
        Admission::Departs
    }

    fn next_displaced(&mut self, _port: usize) -> Option<(PacketKey, DropCause)> {
        self.turns.next_displaced().map(|key| (key, DropCause::QueueFull))
    }

    fn on_event(&mut self, event: Event, transit: &mut Transit) {
        match event {
            Event::Radio(id) => self.on_cell_event(id, transit),
            Event::RadioArrival(id) => {
                let Port { at, link, .. } = self.ports[id.index()];
                self.delayed.arrive(id, |key| Output::Arrived { at, link, key });
            }
            _ => {}
        }
    }

    #[expect(clippy::inline_always, reason = "every frame; measured")]
    #[inline(always)]
    fn poll(&mut self, transit: &mut Transit) -> Option<Output> {
        let Some(id) = self.current else { return self.delayed.take_arrived() };
        if self.rest.is_none() && !self.all[id.index()].wlan.has_output() {
            return None;
        }
        self.next_output(id, transit)
    }

    fn would_wait(&self, port: usize, _now: Instant) -> bool {
        let Port { cell, from, to, .. } = self.ports[port];
        self.all[cell.index()].wlan.would_wait(from, Receiver::Station(to))
    }

    fn queue(&mut self, port: usize, _now: Instant) -> (usize, u64) {
        let Port { cell, from, .. } = self.ports[port];
        let Cell { wlan, stations, .. } = &self.all[cell.index()];
        let (packets, octets) = wlan.waiting(from);
        let has_departed = |frame: &MacFrame| {
            !wlan.tells_fates() || stations[from.index()].hand(frame.to).has_departed(PacketKey(frame.key))
        };
        match wlan.head(from).filter(|frame| !has_departed(frame)) {
            Some(next) => (packets + 1, octets + u64::from(next.octets)),
            None => (packets, octets),
        }
    }

    fn queue_of(&self, port: usize) -> usize {
        let Port { cell, from, .. } = self.ports[port];
        let radio = &self.all[cell.index()].stations[from.index()];
        radio.first_port().map_or(port, PortId::index)
    }

    fn broadcasts(&self, port: usize) -> bool {
        self.queue_of(port) == port
    }

    fn withdraw(&mut self, port: usize) -> Vec<PacketKey> {
        let Port { cell, from, to, .. } = self.ports[port];
        let frames = self.all[cell.index()].wlan.withdraw(from, to);
        frames.into_iter().map(|frame| PacketKey(frame.key)).collect()
    }

    fn attach_options(&mut self, port: usize, key: PacketKey, octets: u16, now: Instant) -> bool {
        let Port { cell, from, .. } = self.ports[port];
        self.all[cell.index()].wlan.attach_options(from, key.0, octets, now)
    }

    fn watch(&mut self, port: usize, needs: LinkSenses) {
        self.ports[port].is_watched = true;
        let Port { cell, from, .. } = self.ports[port];
        self.all[cell.index()].tell_fates();
        let wlan = &mut self.all[cell.index()].wlan;
        if needs.contains(LinkSenses::LINK_OPTIONS) {
            wlan.set_knows_options(from, true);
        }
        if needs.intersects(crate::config::OPTIONS) {
            wlan.tell_transmissions(true);
        }
        if needs.contains(LinkSenses::ATTEMPTS) {
            let cell = &mut self.all[self.ports[port].cell.index()];
            cell.has_attentive_agent = true;
            cell.wlan.tell_attempts(true);
        }
    }

    fn refuse_frames(&mut self, port: usize, refuse: bool) {
        let Port { cell, from, .. } = self.ports[port];
        self.all[cell.index()].wlan.refuse_frames(from, refuse);
    }

    fn observe(&mut self, interests: Interest) {
        let frames = interests.contains(Interest::FRAMES);
        for cell in &mut self.all {
            cell.wlan.tell_attempts(frames || cell.has_attentive_agent);
            if interests.intersects(OF_FATES) {
                cell.tell_fates();
            }
        }
    }

    fn catch_up(&mut self, transit: &mut Transit) {
        for id in 0..self.all.len() {
            self.catch_up_channels(WlanId::of(id), transit);
        }
    }

    fn counters(&self) -> Counters {
        let counted = self.all.iter().map(|cell| {
            let counted = cell.wlan.counters();
            Counters {
                events: 0,
                frames_sent: counted.attempts,
                frames_lost: counted.failures - counted.acks_lost,
                frames_given_up: counted.given_up,
                link_acks_lost: counted.acks_lost,
                duplicate_frames: counted.duplicates,
            }
        });
        counted.fold(Counters::default(), Counters::plus)
    }

    fn doubled(&self) -> usize {
        self.all.iter().flat_map(|cell| &cell.stations).map(Radio::copies).sum()
    }

    fn can_change(&self, _port: usize, _change: &Change) -> Result<(), ChangeError> {
        Err(ChangeError::Radio)
    }

    fn change(&mut self, _port: usize, _change: &Change, _transit: &mut Transit) {}
}
