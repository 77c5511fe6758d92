//! The state machine: what goes in, what comes out, when it wants to be called.

use lasthop_packet::{Instant, Rng};

use super::config::{MacConfig, WlanConfig};
use super::contention::Due;
use super::errors::{ErrorConfig, Errors};
use super::events::{Event, Events};
use super::frame::{CTS_OCTETS, MacFrame, Receiver};
use super::medium::{self, Domain, Transmission};
use super::output::{Output, WlanCounters};
use super::phy::PhyConfig;
use super::plan::Plan;
use super::power_save::PowerSave;
use super::propagation::{Capture, Propagation};
use super::station::{BackOff, Station, StationConfig};
use super::times::Times;
use crate::capacity::nanos;
use crate::id::StationId;

/// Stations on one channel. See [`crate::wifi`].
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
            tells_transmissions: false,
            counters: WlanCounters::default(),
            power_save: None,
        }
    }

    /// Adds a station, before the first frame.
    pub fn add_station(&mut self, config: &StationConfig) -> StationId {
        assert!(self.domains.is_empty(), "stations are added before the first frame");
        let id = StationId::of(self.stations.len());
        let rng = Rng::named(self.seed, &format!("radio {} back-off", id.index()));
        let rate = config.rate.unwrap_or(self.phy.rate);
        // Powers differ from place to place: with capture each station hears for itself.
        let domain = if self.capture.is_some() { id.0 } else { 0 };
        self.stations.push(Station::new(config, domain, rate, self.phy.cw_min, rng));
        id
    }

    /// Whether each transmission is told ([`Output::Attempt`]); not by default.
    pub fn tell_attempts(&mut self, tell: bool) {
        self.tells_attempts = tell;
    }

    /// Gives one direction of a link an error process of its own, from its next frame on.
    pub fn set_errors(&mut self, from: StationId, to: StationId, config: ErrorConfig) {
        self.errors.configure(from, to, config);
    }

    /// A packet for a station to send. `false`: its queue is full.
    pub fn enqueue(&mut self, now: Instant, station: StationId, frame: MacFrame) -> bool {
        self.put(now, station, frame, |station| station.push(frame, now))
    }

    /// As [`Self::enqueue`], for a packet of the flow with this number where flows take turns.
    /// `displaced` is told which frames of others are dropped to make room for it.
    #[cold]
    pub fn enqueue_in_turn(
        &mut self,
        now: Instant,
        station: StationId,
        (flow, frame): (u64, MacFrame),
        displaced: impl FnMut(MacFrame),
    ) -> bool {
        self.put(now, station, frame, |station| station.push_in_turn(flow, frame, now, displaced))
    }

    /// Has a frame buffered for its receiver to wake, or pushed into its station's queue.
    #[expect(clippy::inline_always, reason = "every frame; measured")]
    #[inline(always)]
    fn put(
        &mut self,
        now: Instant,
        station: StationId,
        frame: MacFrame,
        push: impl FnOnce(&mut Station) -> bool,
    ) -> bool {
        if self.domains.is_empty() {
            self.divide();
        }
        if let Some(power_save) = self.power_save.as_deref_mut()
            && power_save.buffers(station.0, frame.to)
        {
            return power_save.buffer(frame, now);
        }
        let index = station.index();
        let had_head = !self.stations[index].queue.is_empty();
        if !push(&mut self.stations[index]) {
            return false;
        }
        if !had_head {
            self.wake(station.0, now);
            if self.stations[index].own.is_none() {
                self.contend(now, station.0);
            }
        }
        true
    }

    /// Whether flows take turns at a station.
    pub fn takes_turns(&self, station: StationId) -> bool {
        self.stations[station.index()].flows.is_some()
    }

    /// Whether a station neither takes nor acknowledges data frames for it from now on. An exchange
    /// that has begun ends as it would have ended. Broadcasts are not refused: nothing says that
    /// they have arrived.
    pub fn refuse_frames(&mut self, station: StationId, refuse: bool) {
        self.stations[station.index()].refuses = refuse;
    }

    /// Takes back what waits at a station for another one; not the frame in the hands of its MAC.
    pub fn withdraw(&mut self, station: StationId, to: StationId) -> Vec<MacFrame> {
        let mut gone = self.stations[station.index()].withdraw(to);
        if let Some(power_save) = self.power_save.as_deref_mut() {
            gone.extend(power_save.withdraw(station.0, to, !gone.is_empty()));
        }
        gone
    }

    /// Packets and octets that wait at a station, the one that is being transmitted not counted.
    pub fn waiting(&self, station: StationId) -> (usize, u64) {
        let (packets, octets) = self.stations[station.index()].waiting();
        match self.power_save.as_deref().map(|it| it.waiting(station.0)) {
            None => (packets, octets),
            Some((buffered, of_them)) => (packets + buffered, octets + of_them),
        }
    }

    /// The frame in the hands of a station's MAC: no longer one that waits.
    pub fn head(&self, station: StationId) -> Option<MacFrame> {
        self.stations[station.index()].queue.front().map(|queued| queued.frame)
    }

    /// Whether a frame that comes to a station now has to wait: for another one, or for its receiver
    /// to wake.
    pub fn would_wait(&self, station: StationId, to: Receiver) -> bool {
        self.stations[station.index()].has_frame() || self.buffers(station, to)
    }

    /// Whether a frame that comes to a station now is kept for its receiver to wake.
    pub fn buffers(&self, station: StationId, to: Receiver) -> bool {
        self.power_save.as_deref().is_some_and(|it| it.buffers(station.0, to))
    }

    /// When [`Self::on_event`] is due next.
    pub fn next_event_at(&self) -> Option<Instant> {
        self.events.next_at()
    }

    /// Does what is due. Early and repeated calls are harmless.
    pub fn on_event(&mut self, now: Instant) {
        while let Some((at, event)) = self.events.pop_until(now) {
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
                Event::SettledEnd(domain) => self.on_settled_end(domain, at),
            }
        }
    }

    /// Whether [`Self::poll`] has something to tell.
    pub fn has_output(&self) -> bool {
        self.told < self.outputs.len()
    }

    /// What has happened next.
    #[inline]
    pub fn poll(&mut self) -> Option<Output> {
        let next = self.outputs.get(self.told).copied();
        if next.is_some() {
            self.told += 1;
        } else {
            self.outputs.clear();
            self.told = 0;
        }
        next
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

    /// A frame has come to a station that had none (9.3.4.2).
    #[inline]
    pub(crate) fn contend(&mut self, now: Instant, index: u32) {
        let slot = self.times.slot;
        let station = &mut self.stations[index as usize];
        let domain_index = station.domain;
        let domain = &mut self.domains[domain_index as usize];
        if !domain.contention.continue_post_back_off(now, index, slot, station) {
            match self.slots_from(index) {
                Some(from) if self.nav_of(index) <= now => {
                    // An idle medium: no back-off, but for the rest of the inter-frame space.
                    let station = &mut self.stations[index as usize];
                    let domain = &mut self.domains[domain_index as usize];
                    domain.contention.stand_apart(index, from.max(now), 0, true, station);
                }
                from => {
                    let slots = self.stations[index as usize].draw();
                    self.back_off(index, slots, now, from);
                }
            }
        }
        self.schedule_access(domain_index);
    }

    /// The same for one that keeps a back-off even if the medium is idle.
    #[inline(never)]
    pub(crate) fn contend_with_back_off(&mut self, now: Instant, index: u32) {
        let slot = self.times.slot;
        let station = &mut self.stations[index as usize];
        let domain = station.domain;
        if !self.domains[domain as usize].contention.continue_post_back_off(now, index, slot, station) {
            let slots = station.draw();
            self.back_off(index, slots, now, self.slots_from(index).map(|from| from.max(now)));
        }
        self.schedule_access(domain);
    }

    pub(crate) fn schedule_access(&mut self, index: u32) {
        let domain = &mut self.domains[index as usize];
        let Some(at) = domain.contention.next_access(self.times.slot, &self.stations) else { return };
        if domain.scheduled.is_none_or(|scheduled| at < scheduled) {
            domain.scheduled = Some(at);
            self.events.push(at, index, Event::Access(index));
        }
    }

    fn on_access(&mut self, index: u32, now: Instant) {
        // An event from before stations moved may be of a domain that is no more.
        let Some(domain) = self.domains.get_mut(index as usize).filter(|at| at.scheduled == Some(now)) else {
            return;
        };
        domain.scheduled = None;
        if domain.contention.next_access(self.times.slot, &self.stations) != Some(now) {
            self.schedule_access(index);
            return;
        }
        domain.turn_busy(now, &self.times, &mut self.stations, &mut self.due);
        if domain.is_clique {
            self.settle(index, now);
        }
        self.commit_due();
    }

    /// An exchange of a station's frame begins.
    pub(crate) fn begin_attempt(&mut self, index: u32, now: Instant) -> Option<Plan> {
        let plan = self.plan(index)?;
        // A PS-Poll is answered all the same: it carries nothing.
        let is_refused = matches!(plan.to, Receiver::Station(to) if self.stations[to.index()].refuses)
            && self.stations[index as usize].own.is_none();
        let station = &mut self.stations[index as usize];
        debug_assert!(
            matches!(station.back_off, BackOff::Counting(_) | BackOff::Apart | BackOff::Committed),
            "{:?}",
            station.back_off
        );
        station.stamp = station.stamp.wrapping_add(1);
        station.back_off = BackOff::Exchanging;
        station.plan = Some(plan);
        let attempts = &mut station.attempts;
        attempts.transmissions += 1;
        attempts.began = now;
        attempts.arrived = false;
        attempts.data_sent = false;
        attempts.is_refused = is_refused;
        if attempts.transmissions == 1 {
            attempts.first = now;
        }
        self.counters.attempts += 1;
        if self.power_save.is_some() {
            self.power_save_begins(index);
        }
        Some(plan)
    }
}
