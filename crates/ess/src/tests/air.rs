//! Access points and clients on a line. Frames take a millisecond.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::{Instant, Rng};

use crate::client::Output as ClientOutput;
use crate::{
    AccessPoint, AccessPointConfig, AccessPointId, Channel, Client, ClientConfig, ClientId, Dbm, Frame,
    Heard, access_point,
};

pub(super) struct Air {
    pub(super) now: Instant,
    pub(super) access_points: Vec<(AccessPoint, f64)>,
    pub(super) clients: Vec<Station>,
    /// The share of frames that are lost.
    pub(super) loss: f64,
    /// Access points that send and receive nothing.
    pub(super) dead: Vec<AccessPointId>,
    pub(super) log: Vec<(u64, ClientId, ClientOutput)>,
    /// The beacon reports that access points have received.
    pub(super) reports: Vec<(u64, ClientId, Vec<Heard>)>,
    /// Whether [`ClientOutput::Tune`] and frames are in the log.
    pub(super) logs_all: bool,
    flights: VecDeque<Flight>,
    next_beacon: Instant,
    rng: Rng,
}

pub(super) struct Station {
    pub(super) client: Client,
    pub(super) metres: f64,
    tuned: Option<Channel>,
    tuning: Option<(Instant, Channel)>,
}

struct Flight {
    arrives: Instant,
    channel: Channel,
    from: Node,
    to: Option<Node>,
    frame: Frame,
}

#[derive(Clone, Copy, PartialEq)]
enum Node {
    AccessPoint(AccessPointId),
    Client(ClientId),
}

const FRAME_TIME: Duration = Duration::from_millis(1);
const SWITCH_TIME: Duration = Duration::from_millis(3);
const BEACON_INTERVAL: Duration = Duration::from_micros(102_400);
pub(super) const CHANNELS: u16 = 3;

/// 40 dB at a metre, and 30 dB for each factor of ten.
fn signal(metres: f64) -> Dbm {
    Dbm::from_watts(0.1 * 1e-4 / libm::pow(metres.abs().max(1.0), 3.0))
}

pub(super) fn channel_of(access_point: AccessPointId) -> Channel {
    Channel(access_point.0 as u16 % CHANNELS)
}

pub(super) fn config() -> ClientConfig {
    ClientConfig::new((0..CHANNELS).map(Channel).collect())
}

impl Air {
    /// Access points at these metres, and clients, which start together.
    pub(super) fn new(access_points: &[f64], config: &AccessPointConfig, seed: u64) -> Self {
        let access_point = |metres: &f64| (AccessPoint::new(config.clone()), *metres);
        Self {
            now: Instant::ZERO,
            access_points: access_points.iter().map(access_point).collect(),
            clients: Vec::new(),
            loss: 0.0,
            dead: Vec::new(),
            log: Vec::new(),
            reports: Vec::new(),
            logs_all: false,
            flights: VecDeque::new(),
            next_beacon: Instant::ZERO,
            rng: Rng::named(seed, "air"),
        }
    }

    pub(super) fn add(&mut self, metres: f64, config: ClientConfig) -> ClientId {
        let client = Client::new(config, self.now);
        self.clients.push(Station { client, metres, tuned: None, tuning: None });
        ClientId(self.clients.len() as u32 - 1)
    }

    /// Each client that is associated sends a data frame.
    pub(super) fn send_data(&mut self) {
        for index in 0..self.clients.len() {
            let client = &self.clients[index].client;
            if let (Some(to), true) = (client.access_point(), client.is_on_air()) {
                let (from, to) = (Node::Client(ClientId(index as u32)), Some(Node::AccessPoint(to)));
                let channel = self.clients[index].tuned.expect("an associated client is tuned");
                self.transmit(channel, from, to, Frame::Null { power_save: false });
            }
        }
    }

    pub(super) fn run(&mut self, until: Instant) {
        while let Some(at) = self.next_event().filter(|at| *at <= until) {
            self.now = at.max(self.now);
            self.step();
        }
        self.now = until;
    }

    fn next_event(&self) -> Option<Instant> {
        let clients = self.clients.iter().map(|station| station.client.next_timeout());
        let access_points = self.access_points.iter().filter_map(|(it, _)| it.next_timeout());
        let flights = self.flights.front().map(|flight| flight.arrives);
        let radios = self.clients.iter().filter_map(|station| station.tuning).map(|(at, _)| at);
        clients.chain(radios).chain(access_points).chain(flights).chain([self.next_beacon]).min()
    }

    fn step(&mut self) {
        if self.next_beacon <= self.now {
            self.next_beacon += BEACON_INTERVAL;
            for index in 0..self.access_points.len() as u32 {
                let from = AccessPointId(index);
                self.transmit(channel_of(from), Node::AccessPoint(from), None, Frame::Beacon);
            }
        }
        while self.flights.front().is_some_and(|flight| flight.arrives <= self.now)
            && let Some(flight) = self.flights.pop_front()
        {
            self.arrive(&flight);
        }
        for station in &mut self.clients {
            if let Some((_, channel)) = station.tuning.take_if(|(at, _)| *at <= self.now) {
                station.tuned = Some(channel);
                station.client.on_tuned(channel, self.now);
            }
            station.client.on_timeout(self.now);
        }
        for (access_point, _) in &mut self.access_points {
            access_point.on_timeout(self.now);
        }
        self.carry_out();
    }

    fn arrive(&mut self, flight: &Flight) {
        let now = self.now;
        if let Node::AccessPoint(from) = flight.from {
            for (index, station) in self.clients.iter_mut().enumerate() {
                let is_addressee = flight.to.is_none_or(|to| to == Node::Client(ClientId(index as u32)));
                let signal = signal(station.metres - self.access_points[from.0 as usize].1);
                let is_heard = station.tuned == Some(flight.channel) && signal >= Dbm(-95);
                if !is_addressee || !is_heard || self.rng.uniform() < self.loss {
                    continue;
                }
                match flight.frame {
                    Frame::Beacon | Frame::ProbeResponse => {
                        station.client.on_beacon(from, flight.channel, signal, now);
                    }
                    _ => station.client.on_frame(from, &flight.frame, now),
                }
            }
        } else if let Node::Client(from) = flight.from {
            for (index, (access_point, metres)) in self.access_points.iter_mut().enumerate() {
                let id = AccessPointId(index as u32);
                let is_addressee = flight.to.is_none_or(|to| to == Node::AccessPoint(id));
                let is_heard = channel_of(id) == flight.channel
                    && !self.dead.contains(&id)
                    && signal(self.clients[from.0 as usize].metres - *metres) >= Dbm(-95);
                if is_addressee && is_heard && self.rng.uniform() >= self.loss {
                    access_point.on_frame(from, &flight.frame, now);
                }
            }
        }
    }

    fn carry_out(&mut self) {
        for index in 0..self.clients.len() {
            let id = ClientId(index as u32);
            while let Some(output) = self.clients[index].client.poll() {
                match &output {
                    ClientOutput::Tune(channel) => {
                        self.clients[index].tuned = None;
                        self.clients[index].tuning = Some((self.now + SWITCH_TIME, *channel));
                    }
                    ClientOutput::Send { to, frame } => {
                        let channel = self.clients[index].tuned.expect("a client tunes before it sends");
                        let to = to.map(Node::AccessPoint);
                        self.transmit(channel, Node::Client(id), to, frame.clone());
                    }
                    ClientOutput::Left { .. } | ClientOutput::Joined { .. } => {}
                }
                let is_association =
                    matches!(output, ClientOutput::Left { .. } | ClientOutput::Joined { .. });
                if self.logs_all || is_association {
                    self.log.push((self.now.as_millis(), id, output));
                }
            }
        }
        for index in 0..self.access_points.len() {
            let id = AccessPointId(index as u32);
            while let Some(output) = self.access_points[index].0.poll() {
                match output {
                    access_point::Output::Send { to, frame } => {
                        let to = Some(Node::Client(to));
                        self.transmit(channel_of(id), Node::AccessPoint(id), to, frame);
                    }
                    // The distribution system tells all others.
                    access_point::Output::Associated { client, .. } => {
                        for (other, (access_point, _)) in self.access_points.iter_mut().enumerate() {
                            if other != index {
                                access_point.remove(client);
                            }
                        }
                    }
                    access_point::Output::Reported { client, heard } => {
                        self.reports.push((self.now.as_millis(), client, heard));
                    }
                    access_point::Output::Disassociated { .. } | access_point::Output::Answered { .. } => {}
                }
            }
        }
    }

    fn transmit(&mut self, channel: Channel, from: Node, to: Option<Node>, frame: Frame) {
        let is_dead = matches!(from, Node::AccessPoint(id) if self.dead.contains(&id));
        if !is_dead {
            self.flights.push_back(Flight { arrives: self.now + FRAME_TIME, channel, from, to, frame });
        }
    }
}
