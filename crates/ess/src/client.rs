//! The management entity of a client: it scans, associates, and roams.
//!
//! ```text
//!              scan              request             request           handshake
//! Unassociated ----> candidate -----------> Joining ---------> Joining ---------> Associated
//!       ^                       authenticate          associate                       |
//!       +------- refused, no answer, no beacons, disassociated ----------------------+
//! ```
//!
//! An associated client scans from time to time, more often where its signal is weak. If it finds an access
//! point that is stronger by a margin, it reassociates: from the moment at which it leaves its channel until
//! it is associated again, it has no access point.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::Instant;

use crate::frame::{Frame, MAX_CANDIDATES};
use crate::neighbors::{Candidate, Neighbors};
use crate::scan::{Purpose, Scan, ScanConfig, Step};
use crate::signal::Dbm;
use crate::{AccessPointId, Channel};

/// What a client does, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientConfig {
    /// The channels that it scans, in this order.
    pub channels: Vec<Channel>,
    /// How it scans.
    pub scan: ScanConfig,
    /// The weakest signal at which it associates. Default -90 dBm.
    pub min_signal: Dbm,
    /// Below this signal of its access point it scans each [`Self::short_interval`], otherwise each
    /// [`Self::long_interval`]. Default -70 dBm.
    pub scan_threshold: Dbm,
    /// See [`Self::scan_threshold`]. Default 30 s.
    pub short_interval: Duration,
    /// See [`Self::scan_threshold`]. Default 300 s.
    pub long_interval: Duration,
    /// How much stronger another access point must be.
    pub margin: Margin,
    /// Whether it follows BSS transition management requests.
    pub steering: Steering,
    /// How long it waits for the answer to an authentication or association request, or for the next message of a
    /// handshake. Default 200 ms.
    pub response_timeout: Duration,
    /// How often it sends a request. Default 3.
    pub max_tries: u8,
    /// How long an access point is no candidate after it did not answer or refused. Default 10 s.
    pub ignore_time: Duration,
    /// How long a client that found no access point waits for its next scan. Default 5 s.
    pub retry_interval: Duration,
    /// How long without a beacon until the access point counts as lost. Default seven intervals of 102.4 ms and
    /// the 500 ms of a probe.
    pub beacon_timeout: Duration,
    /// How long an access point that is not heard remains a candidate. Default 10 s.
    pub neighbor_lifetime: Duration,
}

/// How much stronger, in dB, another access point must be for a client to go there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// As much as this.
    Fixed(i16),
    /// From 1 dB below -85 dBm to 5 dB from -70 dBm on, in steps of 5 dBm (`wpa_supplicant`).
    BySignal,
}

impl Margin {
    /// The margin at this signal of the present access point.
    const fn at(self, current: Dbm) -> i16 {
        match (self, current.0) {
            (Self::Fixed(margin), _) => margin,
            (Self::BySignal, ..-85) => 1,
            (Self::BySignal, ..-80) => 2,
            (Self::BySignal, ..-75) => 3,
            (Self::BySignal, ..-70) => 4,
            (Self::BySignal, _) => 5,
        }
    }
}

/// What a client does on a BSS transition management request (11.21.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// It goes to the first candidate that it has heard lately.
    Follow,
    /// It goes to the first candidate that it would choose by itself: one that is stronger by the margin.
    IfStronger,
    /// It stays.
    Refuse,
}

impl ClientConfig {
    /// The defaults, for these channels.
    pub fn new(channels: Vec<Channel>) -> Self {
        Self {
            channels,
            scan: ScanConfig::default(),
            min_signal: Dbm(-90),
            scan_threshold: Dbm(-70),
            short_interval: Duration::from_secs(30),
            long_interval: Duration::from_secs(300),
            margin: Margin::BySignal,
            steering: Steering::Follow,
            response_timeout: Duration::from_millis(200),
            max_tries: 3,
            ignore_time: Duration::from_secs(10),
            retry_interval: Duration::from_secs(5),
            beacon_timeout: Duration::from_micros(7 * 102_400 + 500_000),
            neighbor_lifetime: Duration::from_secs(10),
        }
    }
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Its radio sends what it has been given and then changes to this channel: [`Client::on_tuned`] follows. A later
    /// change replaces one that is under way.
    Tune(Channel),
    /// It sends a frame to an access point, or to all that hear it.
    Send {
        /// The access point; `None` for all.
        to: Option<AccessPointId>,
        /// The frame.
        frame: Frame,
    },
    /// It has no access point from now on.
    Left {
        /// The access point.
        access_point: AccessPointId,
        /// Why.
        reason: Reason,
    },
    /// It is associated, and carries data.
    Joined {
        /// The access point.
        access_point: AccessPointId,
        /// The access point that it reassociates from.
        previous: Option<AccessPointId>,
    },
}

/// Why a client leaves its access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It goes to another one.
    Roams,
    /// It was asked to go to another one, and does.
    Steered,
    /// It has received no beacon for too long.
    NoBeacons,
    /// The access point has ended the association.
    Disassociated,
}

/// The management entity of a client.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    state: State,
    scan: Option<Scan>,
    /// When the next scan begins, unless one is under way.
    next_scan: Instant,
    last_scan: Instant,
    neighbors: Neighbors,
    /// The access point that it was last associated with: what it associates with next is a reassociation.
    previous: Option<AccessPointId>,
    /// The channel of its radio, or the one to which it changes.
    tuned: Option<Channel>,
    is_tuning: bool,
    outputs: VecDeque<Output>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Unassociated,
    Joining(Attempt),
    Associated(Association),
}

/// An attempt to associate.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    with: Candidate,
    stage: Stage,
    tries: u8,
    /// When the answer is late.
    deadline: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Authenticating,
    Associating,
    /// The access point has accepted, and the four-way handshake follows.
    Handshake,
}

#[derive(Clone, Copy, Debug)]
struct Association {
    with: AccessPointId,
    channel: Channel,
    /// When its last beacon was received, or the association began.
    heard: Instant,
}

/// Its inputs and outputs.
impl Client {
    /// A client that begins its first scan at `start`.
    pub fn new(config: ClientConfig, start: Instant) -> Self {
        Self {
            config,
            state: State::Unassociated,
            scan: None,
            next_scan: start,
            last_scan: start,
            neighbors: Neighbors::default(),
            previous: None,
            tuned: None,
            is_tuning: false,
            outputs: VecDeque::new(),
        }
    }

    /// The access point that it is associated with.
    pub const fn access_point(&self) -> Option<AccessPointId> {
        match self.state {
            State::Associated(Association { with, .. }) => Some(with),
            _ => None,
        }
    }

    /// Whether it is associated, and listens to its access point: not while it scans other channels.
    pub fn is_on_air(&self) -> bool {
        self.access_point().is_some() && !self.is_tuning && !self.scan.as_ref().is_some_and(Scan::is_away)
    }

    /// Its radio has changed to this channel.
    pub fn on_tuned(&mut self, channel: Channel, now: Instant) {
        if self.is_tuning && self.tuned == Some(channel) {
            self.is_tuning = false;
            self.arrive(now);
        }
    }

    /// A beacon or probe response was received on the channel that it is tuned to.
    pub fn on_beacon(&mut self, from: AccessPointId, channel: Channel, signal: Dbm, now: Instant) {
        self.neighbors.hear(from, channel, signal, now);
        if let State::Associated(association) = &mut self.state
            && association.with == from
        {
            association.heard = now;
            if self.neighbors.signal(from).is_some_and(|signal| signal < self.config.scan_threshold) {
                self.next_scan = self.next_scan.min(self.last_scan + self.config.short_interval);
            }
        }
    }

    /// Another frame for it was received from an access point.
    pub fn on_frame(&mut self, from: AccessPointId, frame: &Frame, now: Instant) {
        match self.state {
            State::Joining(attempt) if attempt.with.id == from => self.on_answer(attempt, frame, now),
            State::Associated(association) if association.with == from => {
                self.on_frame_of_own(association, frame, now);
            }
            _ => {}
        }
    }

    /// The time at which [`Self::on_timeout`] is due.
    pub fn next_timeout(&self) -> Instant {
        if self.is_tuning {
            return Instant::MAX;
        }
        let scan = self.scan.as_ref().map_or(self.next_scan, Scan::at);
        match self.state {
            State::Unassociated => scan,
            State::Joining(attempt) => attempt.deadline,
            State::Associated(association) => scan.min(association.heard + self.config.beacon_timeout),
        }
    }

    /// Does what is due. Early and repeated calls are harmless.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.is_tuning {
            return;
        }
        match self.state {
            State::Joining(attempt) => {
                if attempt.deadline <= now {
                    self.try_again(attempt, now);
                }
                return;
            }
            State::Associated(association) if association.heard + self.config.beacon_timeout <= now => {
                self.leave(Reason::NoBeacons);
                self.scan = None;
                self.next_scan = now;
            }
            _ => {}
        }
        if self.scan.is_none() && self.next_scan <= now {
            self.begin_scan(now);
        }
        if self.scan.as_ref().is_some_and(|scan| scan.at() <= now) {
            self.continue_scan(now);
        }
    }

    /// The next output.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
}

/// Scans, and the choice of an access point.
impl Client {
    fn begin_scan(&mut self, now: Instant) {
        let home = match self.state {
            State::Associated(association) => Some(association.channel),
            _ => None,
        };
        self.last_scan = now;
        self.scan = Some(Scan::new(self.config.scan, Purpose::Choice, &self.config.channels, home, now));
    }

    /// Its access point asks which others it receives. It listens on those of these channels that it knows. It refuses,
    /// without an answer, while it scans for itself.
    fn on_beacon_request(&mut self, home: Channel, channels: &[Channel], now: Instant) {
        if self.scan.is_some() {
            return;
        }
        let known = self.config.channels.iter().filter(|channel| channels.contains(channel));
        let known: Vec<Channel> = known.copied().collect();
        self.scan = Some(Scan::new(self.config.scan, Purpose::Report, &known, Some(home), now));
    }

    fn report(&mut self, since: Instant) {
        let mut heard = self.neighbors.heard_since(since);
        heard.truncate(MAX_CANDIDATES);
        let access_point = self.access_point();
        self.send(access_point, Frame::BeaconReport { heard });
    }

    fn continue_scan(&mut self, now: Instant) {
        let Some(scan) = &mut self.scan else { return };
        match scan.step(now) {
            Step::Leave(channel) => {
                self.tell_power_save(true);
                self.tune(channel, now);
            }
            Step::Probe => self.send(None, Frame::ProbeRequest),
            Step::Return(home) => self.tune(home, now),
            Step::Done => {
                let (purpose, began) = (scan.purpose(), scan.began());
                self.scan = None;
                match purpose {
                    Purpose::Choice => {
                        self.neighbors.expire(self.config.neighbor_lifetime, now);
                        self.choose(now);
                    }
                    Purpose::Report => self.report(began),
                }
            }
        }
    }

    /// Its radio is on the channel that it was to change to.
    fn arrive(&mut self, now: Instant) {
        if let State::Joining(attempt) = self.state {
            self.request(attempt, now);
            return;
        }
        let Some(scan) = &mut self.scan else { return };
        scan.on_tuned(now);
        if !scan.is_away() {
            self.tell_power_save(false);
        }
    }

    /// The access point of an associated client buffers frames while the client is on other channels (11.2.3).
    fn tell_power_save(&mut self, power_save: bool) {
        if let Some(to) = self.access_point() {
            self.send(Some(to), Frame::Null { power_save });
        }
    }

    /// A scan is over: associates with the best access point, if that is better than the present one.
    fn choose(&mut self, now: Instant) {
        let best = self.neighbors.best(now).filter(|best| best.signal >= self.config.min_signal);
        match (self.access_point(), best) {
            (None, None) => self.next_scan = now + self.config.retry_interval,
            (None, Some(best)) => self.join(best, now),
            (Some(current), best) => {
                let signal = self.neighbors.signal(current);
                let is_weak = signal.is_none_or(|signal| signal < self.config.scan_threshold);
                let interval = if is_weak { self.config.short_interval } else { self.config.long_interval };
                self.next_scan = self.last_scan + interval;
                if let Some(best) = best.filter(|best| best.id != current && self.is_better(*best, signal)) {
                    self.leave(Reason::Roams);
                    self.join(best, now);
                }
            }
        }
    }

    /// Whether a candidate is better by the margin than an access point with this signal.
    fn is_better(&self, candidate: Candidate, current: Option<Dbm>) -> bool {
        current.is_none_or(|current| candidate.signal >= current.plus(self.config.margin.at(current)))
    }

    fn on_transition_request(&mut self, current: AccessPointId, candidates: &[AccessPointId], now: Instant) {
        let signal = self.neighbors.signal(current);
        let is_acceptable = |candidate: &Candidate| match self.config.steering {
            Steering::Refuse => false,
            Steering::Follow => candidate.signal >= self.config.min_signal,
            Steering::IfStronger => self.is_better(*candidate, signal),
        };
        let others = candidates.iter().filter(|candidate| **candidate != current);
        let heard = others.filter_map(|candidate| self.neighbors.candidate(*candidate, now));
        let target = heard.into_iter().find(is_acceptable);
        let answer = Frame::TransitionResponse { target: target.map(|target| target.id) };
        self.send(Some(current), answer);
        if let Some(target) = target {
            self.leave(Reason::Steered);
            self.join(target, now);
        }
    }
}

/// Associations.
impl Client {
    fn join(&mut self, with: Candidate, now: Instant) {
        self.scan = None;
        let deadline = Instant::MAX;
        self.state = State::Joining(Attempt { with, stage: Stage::Authenticating, tries: 1, deadline });
        self.tune(with.channel, now);
    }

    /// Sends the request of an attempt's stage, and waits for the answer.
    fn request(&mut self, attempt: Attempt, now: Instant) {
        let deadline = now + self.config.response_timeout;
        self.state = State::Joining(Attempt { deadline, ..attempt });
        let frame = match attempt.stage {
            Stage::Authenticating => Frame::AuthenticationRequest,
            Stage::Associating => Frame::AssociationRequest { previous: self.previous },
            // The access point repeats its messages.
            Stage::Handshake => return,
        };
        self.send(Some(attempt.with.id), frame);
    }

    /// The answer to a request is late.
    fn try_again(&mut self, attempt: Attempt, now: Instant) {
        if attempt.tries < self.config.max_tries {
            self.request(Attempt { tries: attempt.tries + 1, ..attempt }, now);
        } else {
            self.fail(attempt, now);
        }
    }

    fn on_answer(&mut self, attempt: Attempt, frame: &Frame, now: Instant) {
        let next = |stage| Attempt { stage, tries: 1, ..attempt };
        match (attempt.stage, frame) {
            (Stage::Authenticating, Frame::AuthenticationResponse { accepts: true }) => {
                self.request(next(Stage::Associating), now);
            }
            (Stage::Authenticating, Frame::AuthenticationResponse { accepts: false })
            | (Stage::Associating, Frame::AssociationResponse { aid: None, .. })
            | (_, Frame::Disassociation) => self.fail(attempt, now),
            (Stage::Associating, Frame::AssociationResponse { aid: Some(_), has_handshake }) => {
                if *has_handshake {
                    self.request(next(Stage::Handshake), now);
                } else {
                    self.associate(attempt.with, now);
                }
            }
            (Stage::Handshake, Frame::Handshake(message @ (1 | 3))) => {
                self.send(Some(attempt.with.id), Frame::Handshake(message + 1));
                if *message == 3 {
                    self.associate(attempt.with, now);
                } else {
                    self.request(next(Stage::Handshake), now);
                }
            }
            _ => {}
        }
    }

    fn on_frame_of_own(&mut self, association: Association, frame: &Frame, now: Instant) {
        match frame {
            Frame::Disassociation => {
                self.leave(Reason::Disassociated);
                self.scan = None;
                self.next_scan = now;
            }
            Frame::BeaconRequest { channels } => self.on_beacon_request(association.channel, channels, now),
            Frame::TransitionRequest { candidates } => {
                self.on_transition_request(association.with, candidates, now);
            }
            // The last message of the handshake was lost.
            Frame::Handshake(3) => self.send(Some(association.with), Frame::Handshake(4)),
            _ => {}
        }
    }

    fn associate(&mut self, with: Candidate, now: Instant) {
        self.state = State::Associated(Association { with: with.id, channel: with.channel, heard: now });
        self.next_scan = now + self.config.long_interval;
        self.last_scan = now;
        let previous = self.previous.replace(with.id).filter(|previous| *previous != with.id);
        self.outputs.push_back(Output::Joined { access_point: with.id, previous });
    }

    /// An attempt failed: the next best access point is tried, and if there is none, the client scans.
    fn fail(&mut self, attempt: Attempt, now: Instant) {
        self.state = State::Unassociated;
        self.neighbors.ignore(attempt.with.id, now + self.config.ignore_time);
        self.neighbors.expire(self.config.neighbor_lifetime, now);
        match self.neighbors.best(now).filter(|best| best.signal >= self.config.min_signal) {
            Some(best) => self.join(best, now),
            None => self.next_scan = now,
        }
    }

    fn leave(&mut self, reason: Reason) {
        if let Some(access_point) = self.access_point() {
            self.outputs.push_back(Output::Left { access_point, reason });
        }
        self.state = State::Unassociated;
    }

    fn tune(&mut self, channel: Channel, now: Instant) {
        if self.tuned.replace(channel) != Some(channel) {
            self.is_tuning = true;
            self.outputs.push_back(Output::Tune(channel));
        } else if !self.is_tuning {
            self.arrive(now);
        }
    }

    fn send(&mut self, to: Option<AccessPointId>, frame: Frame) {
        self.outputs.push_back(Output::Send { to, frame });
    }
}
