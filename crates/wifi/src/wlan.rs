//! The state machine: what goes in, what comes out, when it wants to be called.

use lasthop_link::Channel;
use lasthop_packet::time::nanos;
use lasthop_packet::{Instant, Rng};

use super::config::{MacConfig, WlanConfig};
use super::contention::Due;
use super::errors::{ErrorConfig, Errors};
use super::events::{Event, Events};
use super::frame::CTS_OCTETS;
use super::medium::{self, Domain, Transmission};
use super::output::{Output, WlanCounters};
use super::phy::PhyConfig;
use super::power_save::PowerSave;
use super::propagation::{Capture, Propagation};
use super::station::{Station, StationConfig};
use super::times::Times;
use super::used::Used;
use crate::id::StationId;

/// Stations on one channel. See the crate.
#[derive(Debug)]
pub struct Wlan {
    pub(crate) seed: u64,
    pub(crate) phy: PhyConfig,
    pub(crate) mac: MacConfig,
    pub(crate) propagation: Propagation,
    pub(crate) capture: Option<Capture>,
    pub(crate) settles: bool,
    pub(crate) times: Times,
    pub(crate) errors: Errors,
    pub(crate) stations: Vec<Station>,
    /// Empty until the first frame comes: stations are added before.
    pub(crate) domains: Vec<Domain>,
    /// The initiator of each domain's settled exchange.
    pub(crate) settled: Vec<u32>,
    /// Settled exchanges that are not over.
    pub(crate) settling: u32,
    /// Stations have moved, and domains are as they were before.
    pub(crate) has_moved: bool,
    pub(crate) transmissions: Vec<Transmission>,
    pub(crate) vacant: Vec<u32>,
    pub(crate) events: Events,
    pub(crate) due: Vec<Due>,
    /// Who has heard the broadcast that has just ended.
    pub(crate) receivers: Vec<u32>,
    /// Stations that will transmit at a moment to come, whatever they hear.
    pub(crate) committed: u32,
    pub(crate) outputs: Vec<Output>,
    /// Of them, those that were told.
    told: usize,
    pub(crate) tells_attempts: bool,
    pub(crate) tells_fates: bool,
    pub(crate) tells_transmissions: bool,
    pub(crate) counters: WlanCounters,
    pub(crate) power_save: Option<Box<PowerSave>>,
}

impl Wlan {
    /// No stations yet. All randomness follows from `seed`.
    pub fn new(config: WlanConfig, seed: u64) -> Self {
        let WlanConfig { phy, mac, propagation, capture, errors, settle } = config;
        let timeout = mac.response_timeout.unwrap_or_else(|| phy.response_timeout());
        let cts =
            phy.air_time(phy.response_rate(phy.initial_control_rate(phy.rate, mac.cts_to_self)), CTS_OCTETS);
        let nav_reset = nanos(2 * phy.sifs + cts + phy.rx_start_delay + 2 * phy.slot);
        let times = Times {
            slot: nanos(phy.slot).max(1),
            sifs: nanos(phy.sifs),
            difs: nanos(phy.difs()),
            eifs: nanos(if mac.eifs { phy.eifs() } else { phy.difs() }),
            timeout: nanos(timeout),
            carrier_sense_delay: nanos(phy.carrier_sense_delay.unwrap_or(phy.slot)),
            nav_reset: mac.nav_reset.then_some(nav_reset),
        };
        Self {
            seed,
            phy,
            mac,
            propagation,
            capture,
            settles: settle,
            times,
            errors: Errors::new(seed, errors),
            stations: Vec::new(),
            domains: Vec::new(),
            settled: Vec::new(),
            settling: 0,
            has_moved: false,
            transmissions: Vec::new(),
            vacant: Vec::new(),
            events: Events::default(),
            due: Vec::new(),
            receivers: Vec::new(),
            committed: 0,
            outputs: Vec::new(),
            told: 0,
            tells_attempts: false,
            tells_fates: true,
            tells_transmissions: false,
            counters: WlanCounters::default(),
            power_save: None,
        }
    }

    /// Adds a station, before the first frame.
    pub fn add_station(&mut self, config: &StationConfig) -> StationId {
        assert!(self.domains.is_empty(), "stations are added before the first frame");
        let id = StationId::from_index(self.stations.len());
        let rng = Rng::named(self.seed, &format!("radio {} back-off", id.index()));
        let rate = config.rate.unwrap_or(self.phy.rate);
        // Powers differ from place to place: with capture each station hears for itself.
        let domain = if self.capture.is_some() { id.0 } else { 0 };
        let limits = (self.phy.cw_min, self.mac.short_retry_limit);
        self.stations.push(Station::new(config, domain, rate, limits, rng));
        id
    }

    /// Whether each transmission is told ([`Output::Attempt`]); not by default.
    pub fn tell_attempts(&mut self, tell: bool) {
        self.tells_attempts = tell;
    }

    /// Whether more is told of frames to one station than their arrival and that they were given up;
    /// by default it is.
    pub fn tell_fates(&mut self, tell: bool) {
        self.tells_fates = tell;
    }

    /// Whether it is.
    pub fn tells_fates(&self) -> bool {
        self.tells_fates
    }

    /// What a station has had of the air so far.
    pub fn used(&self, station: StationId) -> Used {
        self.stations[station.index()].used
    }

    /// Gives one direction of a link an error process of its own, from its next frame on.
    pub fn set_errors(&mut self, from: StationId, to: StationId, config: ErrorConfig) {
        self.errors.configure(from, to, config);
    }

    /// Gives a link a channel that all frames between its two stations meet, in either direction and
    /// of any kind, besides the errors of its directions.
    pub fn set_channel(&mut self, between: (StationId, StationId), channel: Channel) {
        self.errors.set_channel(between, channel);
    }

    /// The channel of a link.
    pub fn channel_mut(&mut self, between: (StationId, StationId)) -> Option<&mut Channel> {
        self.errors.channel_mut(between)
    }

    /// The packet of this key is to be lost on its way from one station to another, whose link has a
    /// channel.
    pub fn lose(&mut self, link: (StationId, StationId), key: u32) {
        self.errors.lose(link, key);
    }

    /// Whether a link has one.
    pub fn has_channels(&self) -> bool {
        self.errors.has_channels()
    }

    /// Brings the channels of all links up to `now`. Returns their changes.
    pub fn catch_up(&mut self, now: Instant) -> impl Iterator<Item = Output> {
        self.errors.catch_up(now);
        self.errors.changes()
    }

    /// Whether a station neither takes nor acknowledges data frames for it from now on. An exchange
    /// that has begun ends as it would have ended. Broadcasts are not refused: nothing says that
    /// they have arrived.
    pub fn refuse_frames(&mut self, station: StationId, refuse: bool) {
        self.stations[station.index()].refuses = refuse;
    }

    /// When [`Self::on_event`] is due next.
    pub fn next_event_at(&self) -> Option<Instant> {
        self.events.next_at()
    }

    /// Does what is due. Early and repeated calls are harmless.
    pub fn on_event(&mut self, now: Instant) {
        self.go_on(now, now);
    }

    /// As [`Self::on_event`], and what is due later, but before `horizon`, until there is something to
    /// tell. Whoever calls puts nothing in before that. Returns the time of what was done last and
    /// how many moments later than `now` there were.
    pub fn go_on(&mut self, now: Instant, horizon: Instant) -> (Instant, u64) {
        if !self.has_output() {
            self.outputs.clear();
            self.told = 0;
        }
        let (mut now, mut later) = (now, 0);
        while let Some((at, event)) =
            self.events.pop_if(|at| at <= now || at < horizon && self.outputs.is_empty())
        {
            if at > now {
                now = at;
                later += 1;
            }
            match event {
                Event::Tbtt(access_point) => self.on_tbtt(access_point, at),
                Event::Access(domain) => self.on_access(domain, at),
                Event::Begin(station) => self.begin(station, at),
                Event::FrameEnd(transmission) => self.on_frame_end(transmission, at),
                Event::SendCts(station, initiator) => self.send_cts(station, initiator, at),
                Event::SendAck(station, initiator) => self.send_ack(station, initiator, at),
                Event::SendData(initiator) => self.send_data(initiator, at),
                Event::Timeout(station) => self.on_timeout(station, at),
                Event::SettledData(domain) => self.on_settled_data(domain, at),
                Event::SettledEnd(domain) => {
                    if self.on_settled_end(domain, at) {
                        let horizon = if self.outputs.is_empty() { horizon } else { now };
                        if let Some(at) = self.access_at_once(domain, horizon) {
                            (now, later) = (at, later + 1);
                        }
                    }
                }
                Event::CollisionEnd(domain) => self.on_collision_end(domain, at),
            }
        }
        (now, later)
    }

    /// Whether [`Self::poll`] has something to tell.
    pub fn has_output(&self) -> bool {
        self.told < self.outputs.len()
    }

    /// What has happened next.
    pub fn poll(&mut self) -> Option<Output> {
        self.next_output().copied()
    }

    /// As [`Self::poll`], where it lies.
    #[inline]
    pub fn next_output(&mut self) -> Option<&Output> {
        let next = self.outputs.get(self.told)?;
        self.told += 1;
        Some(next)
    }

    /// What was counted so far.
    pub const fn counters(&self) -> &WlanCounters {
        &self.counters
    }

    /// Sense domains: stations that hear the same share one. 0 before the first frame.
    pub fn domains(&self) -> usize {
        self.domains.len()
    }

    pub(crate) fn divide(&mut self) {
        self.group();
        for domain in &mut self.domains {
            // Nobody has ever heard anything: what comes first need not wait.
            domain.contention.resume(Instant::ZERO);
            domain.ifs = self.times.difs;
        }
    }

    /// Divides stations into domains, of which nothing else is known yet.
    pub(crate) fn group(&mut self) {
        let (positions, kin): (Vec<_>, Vec<_>) =
            self.stations.iter().map(|station| (station.position, station.domain)).unzip();
        self.domains = medium::divide(&positions, &kin, &self.propagation);
        self.settled.resize(self.domains.len(), 0);
        for (index, domain) in self.domains.iter_mut().enumerate() {
            domain.is_clique &= self.settles;
            for member in &domain.members {
                self.stations[*member as usize].domain = index as u32;
            }
        }
    }
}
