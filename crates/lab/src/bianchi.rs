//! Saturation throughput of the distributed coordination function: Bianchi's model and its
//! refinements, and the simulator's result.
//!
//! G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", JSAC
//! 18(3), 2000. Finite retry limits: H. Wu et al., "Performance of Reliable Transport Protocol over
//! IEEE 802.11 Wireless LAN", INFOCOM 2002. Frozen backoff: I. Tinnirello, G. Bianchi, Y. Xiao,
//! "Refinements on IEEE 802.11 Distributed Coordination Function Modeling Approaches", IEEE Trans.
//! Vehicular Technology 59(3), 2010. The chains are written as renewal processes here: mean
//! attempts over mean slots.
//!
//! The refinement: a frozen backoff has at least one slot left, so that only stations that
//! transmitted in a busy period, and have drawn 0, transmit in the slot right after it. A station
//! that succeeds transmits again alone with probability `1/W0`, in a train of frames; otherwise its
//! draw is uniform over one slot less than the window.

pub mod reproduction;

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::QueueLimit;
use lasthop_wifi::phy::{Format, Rate};
use lasthop_wifi::{MacFrame, Output, Rates, RawFrame, Receiver, StationConfig, Wlan, WlanConfig, frame};

/// The parameters of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// Stations that always have a frame to send.
    pub stations: u32,
    /// Seconds of a slot.
    pub slot: f64,
    /// Seconds of a successful exchange, with DIFS or AIFS.
    pub success: f64,
    /// Seconds of a collision, EIFS included.
    pub collision: f64,
    /// Seconds by which the stations that collided may begin to count slots before the others:
    /// `EIFS - DIFS - ACKTimeout`, or 0.
    pub head_start: f64,
    /// CWmin: draws are from 0 to CWmin.
    pub cw_min: u32,
    /// CWmax.
    pub cw_max: u32,
    /// Slots by which the longest draw falls short of CW: 0; 1 in ns-2, which draws from 0 to CW -
    /// 1.
    pub short_of_cw: u32,
    /// Maximum number of transmissions of a frame; `None` for no limit.
    pub attempts: Option<u32>,
    /// Payload of a frame or an A-MPDU, in bits.
    pub payload: f64,
    /// Seconds of the exchange of a block ack request, with AIFS. It contends as a frame does, after each frame that is given
    /// up. `None`: there are none.
    pub request: Option<f64>,
}

/// The version of the model: whether a busy slot decrements backoffs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freezing {
    /// Bianchi 2000: a busy slot decrements them.
    Counts,
    /// It does not (see the module's documentation).
    Stops,
}

impl Saturation {
    /// The parameters of a cell in which all stations hear each other, for packets of `octets`. An A-MPDU carries as many
    /// as its limits permit; the packets of a collision have their collisions together.
    pub fn new(config: &WlanConfig, stations: u32, octets: u32) -> Self {
        let (phy, mac) = (&config.phy, &config.mac);
        let (packets, psdu) = psdu(config, octets);
        let control = phy.response_rate(phy.rate);
        let data = phy.air_time(phy.rate, psdu);
        let response = match &mac.aggregation {
            Some(aggregation) if packets > 1 && aggregation.ampdu > 0 => {
                frame::block_ack_octets(aggregation.window)
            }
            _ => frame::ACK_OCTETS,
        };
        let ack = phy.air_time(control, response);
        let aifs = phy.sifs + mac.aifsn * phy.slot;
        let mut success = data + phy.sifs + ack + aifs;
        let mut first = data;
        let has_rts = psdu > mac.rts_threshold;
        if has_rts {
            first = phy.air_time(control, frame::RTS_OCTETS);
            success += first + phy.air_time(control, frame::CTS_OCTETS) + 2 * phy.sifs;
        }
        let timeout = mac.response_timeout.unwrap_or_else(|| phy.response_timeout());
        let after = if mac.eifs { phy.eifs().saturating_sub(phy.difs()) + aifs } else { aifs };
        Self {
            stations,
            slot: phy.slot.as_secs_f64(),
            success: success.as_secs_f64(),
            collision: (first + after).as_secs_f64(),
            head_start: after.saturating_sub(aifs + timeout).as_secs_f64(),
            cw_min: phy.cw_min,
            cw_max: phy.cw_max,
            short_of_cw: 0,
            attempts: Some(mac.short_retry_limit),
            payload: f64::from(packets) * f64::from(octets) * 8.0,
            request: mac.aggregation.as_ref().map(|aggregation| {
                let response = phy.air_time(control, frame::block_ack_octets(aggregation.window));
                let request = phy.air_time(control, frame::BLOCK_ACK_REQUEST_OCTETS);
                (request + phy.sifs + response + aifs).as_secs_f64()
            }),
        }
    }

    /// The throughput in bits per second.
    pub fn throughput(&self, freezing: Freezing) -> f64 {
        // The fixed point is unique: bisect on the probability that a station transmits in a slot.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..200 {
            let tau = f64::midpoint(low, high);
            if self.chain(self.collision_probability(tau), freezing).0 > tau { low = tau } else { high = tau }
        }
        self.throughput_at(f64::midpoint(low, high), freezing)
    }

    fn collision_probability(&self, tau: f64) -> f64 {
        1.0 - libm::pow(1.0 - tau, f64::from(self.stations) - 1.0)
    }

    /// The contention window of an attempt; attempts are counted from 0.
    fn window(&self, attempt: u32) -> f64 {
        let cw = (u64::from(self.cw_min) + 1) << attempt.min(20);
        (cw.min(u64::from(self.cw_max) + 1) - u64::from(self.short_of_cw)) as f64
    }

    /// Slots after a collision in which only its stations can transmit.
    fn slots_of_colliders(&self) -> f64 {
        libm::floor(self.head_start / self.slot) + 1.0
    }

    /// For a collision probability: the probability that a station transmits in a slot, and that a
    /// station whose transmission collided transmits again at once.
    fn chain(&self, p: f64, freezing: Freezing) -> (f64, f64) {
        // After 200 attempts the rest is negligible, unless each attempt collides.
        let attempts = self.attempts.unwrap_or(200);
        let own_slots = self.slots_of_colliders();
        // The first attempt follows a success, or another station's: one slot.
        let mut before = 1.0;
        let (mut visits, mut tries, mut slots, mut at_once) = (1.0, 0.0, 0.0, 0.0);
        for attempt in 0..attempts {
            let window = self.window(attempt);
            let next = self.window(if attempt + 1 < attempts { attempt + 1 } else { 0 });
            tries += visits;
            match freezing {
                Freezing::Counts => {
                    slots += visits * f64::midpoint(window, 1.0);
                    visits *= p;
                }
                Freezing::Stops => {
                    slots += visits * f64::midpoint((window - before).max(0.0), 1.0);
                    before = own_slots;
                    at_once += visits * (before / next).min(1.0);
                    visits *= p * (1.0 - before / next).max(0.0);
                }
            }
        }
        (tries / slots, at_once / tries)
    }

    fn throughput_at(&self, tau: f64, freezing: Freezing) -> f64 {
        let n = f64::from(self.stations);
        let idle = libm::pow(1.0 - tau, n);
        let success = n * tau * libm::pow(1.0 - tau, n - 1.0);
        let collision = (1.0 - idle - success).max(0.0);
        let (train, after, at_once) = match freezing {
            Freezing::Counts => (1.0, 0.0, 0.0),
            Freezing::Stops => {
                let window = self.window(0);
                let (_, at_once) = self.chain(self.collision_probability(tau), freezing);
                // Of the stations that collide, those that transmit again at once.
                let colliders = n * tau - success;
                (window / (window - 1.0), self.slot, colliders * at_once)
            }
        };
        let frames = success * train + at_once * train;
        // A station that transmits at once does so before EIFS is over, on average in the middle of
        // the colliders' own slots.
        let saved = self.head_start - (self.slots_of_colliders() - 1.0) / 2.0 * self.slot;
        let requests = frames * self.share_of_requests(self.collision_probability(tau));
        let exchanges = (frames - requests) * self.success + requests * self.request.unwrap_or_default();
        let time = idle * self.slot + success * after + exchanges + collision * (self.collision + after)
            - at_once * saved.max(0.0);
        (frames - requests) * self.payload / time
    }

    /// The share of block ack requests in all exchanges. One follows each frame that is given up, and contends as that did.
    fn share_of_requests(&self, p: f64) -> f64 {
        let Some((attempts, _)) = self.attempts.zip(self.request) else { return 0.0 };
        let given_up = libm::pow(p, f64::from(attempts));
        given_up / (1.0 + given_up)
    }
}

/// The packets of `octets` that a frame carries, in an A-MPDU or an A-MSDU, and the length of its PSDU.
fn psdu(config: &WlanConfig, octets: u32) -> (u32, u32) {
    let (phy, overhead) = (&config.phy, config.mac.overhead);
    let mpdu = octets + overhead.octets();
    let delimiter = match phy.rate.mcs() {
        Some(mcs) if mcs.format() != Format::Ht => frame::DELIMITER_OCTETS,
        _ => 0,
    };
    let Some(limits) = &config.mac.aggregation else { return (1, delimiter + mpdu) };
    let in_ampdu = frame::DELIMITER_OCTETS + mpdu;
    let ampdu = |packets: u32| (packets - 1) * in_ampdu.next_multiple_of(4) + in_ampdu;
    let subframe = frame::SUBFRAME_OCTETS + overhead.llc + octets;
    let amsdu = |packets: u32| (packets - 1) * subframe.next_multiple_of(4) + subframe;
    let of_amsdu = |packets: u32| delimiter + overhead.header + overhead.fcs + amsdu(packets);
    let is_short = |octets| phy.air_time(phy.rate, octets) <= limits.duration;
    if limits.ampdu > 0 {
        let is_within = |packets: &u32| ampdu(*packets) <= limits.ampdu && is_short(ampdu(*packets));
        let most = (2..=u32::from(limits.window)).take_while(is_within).last();
        most.map_or((1, delimiter + mpdu), |packets| (packets, ampdu(packets)))
    } else {
        let is_within = |packets: &u32| amsdu(*packets) <= limits.amsdu && is_short(of_amsdu(*packets));
        let most = (2..=limits.amsdu / subframe + 1).take_while(is_within).last();
        most.map_or((1, delimiter + mpdu), |packets| (packets, of_amsdu(packets)))
    }
}

/// The simulator's saturation throughput in bits per second: `stations` send packets of `octets` to
/// a station that only receives. The first twentieth of the time does not count.
pub fn measure(config: &WlanConfig, stations: u32, octets: u32, time: Duration, seed: u64) -> f64 {
    let during = (Instant::ZERO + time / 20, Instant::ZERO + time);
    measure_with_beacons(config, (stations, octets), during, seed, None)
}

/// As [`measure`], between two times. `beacon`: a beacon's octets, and its interval; the first station sends it.
pub(crate) fn measure_with_beacons(
    config: &WlanConfig,
    (stations, octets): (u32, u32),
    (start, end): (Instant, Instant),
    seed: u64,
    beacon: Option<(u32, Duration)>,
) -> f64 {
    let mut wlan = Wlan::new(config.clone(), seed);
    let station = StationConfig { queue: QueueLimit::Unlimited, ..StationConfig::default() };
    let sink = wlan.add_station(&station);
    let senders: Vec<_> = (0..stations).map(|_| wlan.add_station(&station)).collect();
    let frame = MacFrame { to: Receiver::Station(sink), key: 0, octets };
    // A frame is in the air while the packets of the next one wait.
    let (packets, _) = psdu(config, octets);
    for sender in &senders {
        for _ in 0..2 * packets {
            wlan.enqueue(Instant::ZERO, *sender, frame);
        }
    }
    let mut beacon_at = beacon.map(|(_, interval)| Instant::ZERO + interval);
    let mut delivered = 0_u64;
    while let Some(now) = wlan.next_event_at().filter(|now| *now <= end) {
        if let (Some((octets, interval)), Some(at)) = (beacon, beacon_at.filter(|at| *at <= now)) {
            let (to, rates) = (Receiver::Broadcast, Rates::LowestBasic);
            wlan.enqueue_raw(at, senders[0], RawFrame { to, key: 0, octets, rates });
            beacon_at = Some(at + interval);
            continue;
        }
        wlan.on_event(now);
        while let Some(output) = wlan.poll() {
            match output {
                Output::Delivered { .. } => delivered += u64::from(now > start),
                Output::Fate { from, fate, .. } => {
                    if fate != lasthop_wifi::Fate::FirstTransmissionFailed {
                        wlan.enqueue(now, from, frame);
                    }
                }
                Output::Transmission { .. }
                | Output::Attempt { .. }
                | Output::Departs { .. }
                | Output::Tuned { .. }
                | Output::RawDelivered { .. }
                | Output::RawFate { .. }
                | Output::TooOld { .. } => {}
            }
        }
    }
    delivered as f64 * f64::from(octets) * 8.0 / end.since(start).as_secs_f64()
}

/// The rate of data frames of a cell, in Mbit/s.
pub fn megabits(rate: Rate) -> f64 {
    rate.kbps() as f64 / 1000.0
}
