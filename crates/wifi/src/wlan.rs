//! The state machine: its parts, and the steps between them.
//!
//! | part | what it owns |
//! |---|---|
//! | `medium` | which stations hear each other, which frames are in the air, who transmits next |
//! | `contenders` | queues, backoffs, retries, exchanges |
//! | `stations` | the frames last received, what stations know of each other |
//! | `errors`, `error_model` | frames lost without a collision |
//! | `power_save` | stations that doze, and frames that wait for them |
//! | `outputs` | the outputs that the caller has not taken |
//! | `events` | the event queue |
//! | `tunings` | stations that are tuned at the end of an exchange |
//!
//! The parts do not call each other, except that the medium makes contenders count down. A step from one
//! part to another is a method of [`Wlan`]; each subject has a file. The way of a frame: `queueing`,
//! `access`, `planning`, `settle` or `exchange`, `outcome`; what an A-MPDU needs is in `block_ack`, and
//! exchanges that follow each other in `txop`. Stations that move or are tuned: `tuning`.

mod access;
mod block_ack;
mod exchange;
mod options;
mod outcome;
mod planning;
mod power_save;
mod queueing;
mod raw;
mod settle;
#[cfg(test)]
mod tests;
mod tuning;
mod txop;

use std::collections::VecDeque;

use lasthop_packet::time::nanos;
use lasthop_packet::{Instant, Rng};

use super::config::{MacConfig, WlanConfig};
use super::contender::Contender;
use super::errors::{ErrorConfig, ErrorModel, Errors};
use super::events::{Event, Events};
use super::frame::{CTS_OCTETS, StationId};
use super::medium::Medium;
use super::output::{Output, Used, Wanted, WlanCounters};
use super::phy::PhyConfig;
use super::power_save::PowerSave;
use super::station::{Channel, Station, StationConfig};
use super::times::Times;

/// Stations, each on a channel or off the air: see the crate's documentation. `E` loses frames in addition to
/// the errors of its configuration.
#[derive(Debug)]
pub struct Wlan<E = ()> {
    seed: u64,
    phy: PhyConfig,
    mac: MacConfig,
    /// The octets that a data frame adds to a packet.
    overhead: u32,
    /// Whether packets are aggregated and there are block ack agreements.
    aggregates: bool,
    times: Times,
    medium: Medium,
    stations: Vec<Station>,
    /// By station: nanoseconds for which others have transmitted for packets to it that were delivered or given up.
    air_times_to: Vec<u64>,
    /// By [`Contender::index_of`].
    contenders: Vec<Contender>,
    errors: Errors,
    error_model: E,
    events: Events,
    /// Stations that take part in an exchange, and the channels that they are tuned to at its end.
    tunings: Vec<(u32, Option<Channel>)>,
    /// The stations that received the broadcast that has just ended.
    receivers: Vec<u32>,
    /// The number of contenders that will transmit whatever they hear until then.
    committed: u32,
    wanted: Wanted,
    /// Outputs that the caller has not taken.
    outputs: VecDeque<Output>,
    counters: WlanCounters,
    power_save: Option<Box<PowerSave>>,
}

impl Wlan {
    /// A cell without stations. All randomness follows from `seed`.
    pub fn new(config: WlanConfig, seed: u64) -> Self {
        Self::with_error_model(config, seed, ())
    }
}

impl<E: ErrorModel> Wlan<E> {
    /// As [`Wlan::new`], with a model that loses frames in addition to the errors of the
    /// configuration.
    pub fn with_error_model(config: WlanConfig, seed: u64, error_model: E) -> Self {
        let WlanConfig { phy, mac, propagation, capture, errors, settle } = config;
        let aifs = phy.sifs + mac.aifsn * phy.slot;
        let eifs = phy.eifs_with(aifs);
        let timeout = mac.response_timeout.unwrap_or_else(|| phy.response_timeout());
        let cts =
            phy.air_time(phy.response_rate(phy.initial_control_rate(phy.rate, mac.cts_to_self)), CTS_OCTETS);
        let nav_reset = nanos(2 * phy.sifs + cts + phy.rx_start_delay + 2 * phy.slot);
        let times = Times {
            slot: nanos(phy.slot).max(1),
            sifs: nanos(phy.sifs),
            difs: nanos(aifs),
            eifs: nanos(if mac.eifs { eifs } else { aifs }),
            txop: nanos(mac.txop_limit),
            timeout: nanos(timeout),
            carrier_sense_delay: nanos(phy.carrier_sense_delay.unwrap_or(phy.slot)),
            nav_reset: mac.nav_reset.then_some(nav_reset),
        };
        Self {
            seed,
            overhead: mac.overhead.octets(),
            aggregates: mac.aggregation.is_some(),
            phy,
            mac,
            times,
            medium: Medium::new(times, propagation, capture, settle),
            stations: Vec::new(),
            air_times_to: Vec::new(),
            contenders: Vec::new(),
            errors: Errors::new(seed, errors),
            error_model,
            events: Events::default(),
            tunings: Vec::new(),
            receivers: Vec::new(),
            committed: 0,
            wanted: Wanted { attempts: false, fates: true, transmissions: false },
            outputs: VecDeque::new(),
            counters: WlanCounters::default(),
            power_save: None,
        }
    }

    /// Adds a station, before the first frame.
    pub fn add_station(&mut self, config: &StationConfig) -> StationId {
        assert!(self.medium.domains() == 0, "stations are added before the first frame");
        let id = StationId::from_index(self.stations.len());
        self.medium.add(config);
        self.stations.push(Station::new(config));
        self.air_times_to.push(0);
        for contender in Contender::all_of(id.0) {
            let rng = Rng::named(self.seed, &format!("radio {contender} back-off"));
            self.contenders.push(Contender::new(config, &self.phy, &self.mac, rng));
        }
        id
    }

    /// Sets whether each transmission is reported ([`Output::Attempt`]); by default it is not.
    pub fn report_attempts(&mut self, is_on: bool) {
        self.wanted.attempts = is_on;
    }

    /// Sets whether all fates of unicast frames are reported ([`Output::Fate`]), as by default, or only that
    /// they were given up.
    pub fn report_fates(&mut self, is_on: bool) {
        self.wanted.fates = is_on;
    }

    /// Whether all fates are reported.
    pub fn reports_fates(&self) -> bool {
        self.wanted.fates
    }

    /// Whether packets are aggregated: power save excludes it.
    pub const fn aggregates(&self) -> bool {
        self.aggregates
    }

    /// The physical layer.
    pub const fn phy(&self) -> &PhyConfig {
        &self.phy
    }

    /// The air that a station has used so far.
    pub fn used(&self, station: StationId) -> Used {
        Contender::all_of(station.0)
            .fold(Used::default(), |sum, it| sum.plus(self.contenders[it as usize].used()))
    }

    /// Nanoseconds for which others have transmitted for packets to a station that were delivered or given up.
    pub fn air_time_to(&self, station: StationId) -> u64 {
        self.air_times_to[station.index()]
    }

    /// Sets the errors of one direction of a link, from its next frame on.
    pub fn set_errors(&mut self, from: StationId, to: StationId, config: ErrorConfig) {
        self.errors.configure(from, to, config);
    }

    /// The model that loses frames in addition to the errors of the configuration.
    pub const fn error_model(&self) -> &E {
        &self.error_model
    }

    /// As [`Self::error_model`].
    pub const fn error_model_mut(&mut self) -> &mut E {
        &mut self.error_model
    }

    /// Sets whether a station drops data frames for it, without an ACK, from now on. An exchange that has
    /// begun is not affected. Broadcasts are not refused, because they are not acknowledged.
    pub fn refuse_frames(&mut self, station: StationId, refuse: bool) {
        self.stations[station.index()].refuse(refuse);
    }

    /// The time at which [`Self::on_event`] is due.
    pub fn next_event_at(&self) -> Option<Instant> {
        self.events.next_at()
    }

    /// Processes the events that are due. Early and repeated calls are harmless.
    pub fn on_event(&mut self, now: Instant) {
        self.go_on(now, now);
    }

    /// As [`Self::on_event`]; also processes later events before `horizon`, until there is an output. The
    /// caller must not enqueue frames for times before `horizon`. Returns the time of the last event, and
    /// the number of distinct times after `now`.
    #[inline(never)]
    pub fn go_on(&mut self, now: Instant, horizon: Instant) -> (Instant, u64) {
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
                Event::Begin(contender) => self.begin(contender, at),
                Event::FrameEnd(transmission) => self.on_frame_end(transmission, at),
                Event::Send(station, initiator) => self.send(station, initiator, at),
                Event::Timeout(contender) => self.on_timeout(contender, at),
                Event::SettledData(domain, initiator) => self.on_settled_data(domain, initiator, at),
                Event::SettledEnd(domain, initiator) => {
                    if self.on_settled_end(domain, initiator, at) {
                        let horizon = if self.outputs.is_empty() { horizon } else { now };
                        if let Some(at) = self.access_at_once(domain, horizon) {
                            (now, later) = (at, later + 1);
                        }
                    }
                }
                Event::CollisionEnd(domain) => self.on_collision_end(domain, at),
                Event::Gap(station, initiator) => self.on_gap(station, initiator, at),
            }
        }
        (now, later)
    }

    /// Whether [`Self::poll`] has an output.
    pub fn has_output(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// The next output.
    #[inline]
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The counters.
    pub const fn counters(&self) -> &WlanCounters {
        &self.counters
    }

    /// The number of sense domains: stations that hear the same transmissions share one. 0 before the first
    /// frame.
    pub fn domains(&self) -> usize {
        self.medium.domains()
    }
}
