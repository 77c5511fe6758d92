//! Raw frames. 802.11b with long preambles, unless another standard is named: 802.11b sends them at
//! 1 Mbit/s, the lowest basic rate.

use lasthop_packet::{Instant, Probability};

use super::support::{AIR, Cell, RANGES, config, fixed, us};
use super::topologies::b;
use crate::output::Fate;
use crate::{
    Capture, ErrorConfig, LogDistance, Output, Position, Propagation, Rate, Rates, RawFrame, Receiver,
    RetryChain, Standard, WlanConfig,
};

/// An authentication frame: header, algorithm, sequence number, status and FCS.
const AUTHENTICATION: u32 = 34;

impl Cell {
    /// A raw frame of 34 octets; to all without a receiver. Whether there was room for it.
    fn manage(&mut self, at: Instant, from: usize, to: Option<usize>, key: u32) -> bool {
        let frame = self.raw(to, key);
        self.put(at, from, frame)
    }

    pub(super) fn raw(&self, to: Option<usize>, key: u32) -> RawFrame {
        let to = to.map_or(Receiver::Broadcast, |to| Receiver::Station(self.stations[to]));
        RawFrame { to, key, octets: AUTHENTICATION, rates: Rates::LowestBasic }
    }

    pub(super) fn put(&mut self, at: Instant, from: usize, frame: RawFrame) -> bool {
        self.run(at);
        self.wlan.enqueue_raw(at, self.stations[from], frame)
    }

    /// Raw frames that have arrived: times in nanoseconds, receivers, keys.
    fn managed(&self) -> Vec<(u64, usize, u32)> {
        let entries = self.log.iter().filter_map(|(time, output)| match output {
            Output::RawDelivered { at, key, .. } => Some((*time, at.index(), *key)),
            _ => None,
        });
        entries.collect()
    }

    /// Fates of raw frames: times in nanoseconds, keys, whether they were acknowledged.
    fn raw_fates(&self) -> Vec<(u64, u32, bool)> {
        let entries = self.log.iter().filter_map(|(time, output)| match output {
            Output::RawFate { key, acknowledged, .. } => Some((*time, *key, *acknowledged)),
            _ => None,
        });
        entries.collect()
    }
}

/// The names of the frames in the air of this thread's cells since the last call.
fn on_air() -> Vec<String> {
    AIR.with_borrow_mut(std::mem::take).into_iter().map(|frame| frame.what).collect()
}

fn by_frame(config: WlanConfig) -> WlanConfig {
    on_air();
    WlanConfig { settle: false, ..config }
}

#[test]
fn a_broadcast_takes_its_preamble_and_bits_and_has_no_acknowledgment() {
    for (octets, rate, micros) in [
        (100, None, 192 + 800),
        (64, Some(Rate::DSSS_1), 192 + 512),
        (100, Some(Rate::DSSS_2), 192 + 400),
        (100, Some(Rate::CCK_11), 192 + 73),
    ] {
        for settle in [true, false] {
            let mut cell = Cell::new(WlanConfig { settle, ..config(Standard::HrDsss) }, &[0.0, 1.0, 2.0]);
            let frame = RawFrame { octets, rates: fixed(rate), ..cell.raw(None, 3) };
            cell.put(us(1_000), 0, frame);
            cell.run(us(1_000_000));
            let end = (1_000 + micros) * 1000;
            assert_eq!(cell.managed(), [(end, 1, 3), (end, 2, 3)], "{octets} {rate:?} {settle}");
            assert_eq!(cell.raw_fates(), [(end, 3, true)]);
        }
    }
}

#[test]
fn a_unicast_frame_takes_the_sum_of_its_frames_and_spaces() {
    use Standard::{Erp, HrDsss, Ofdm};
    // Standard, rate, RTS, CTS-to-self; microseconds to the end of the frame and from there to that of the
    // ACK. 272 bits; with 22 they are 12.25 symbols at 6 Mbit/s, 3.06 at 24.
    for (standard, rate, rts, cts, to_end, to_ack) in [
        (HrDsss, None, false, false, 192 + 272, 10 + 304),
        (HrDsss, Some(Rate::DSSS_2), false, false, 192 + 136, 10 + 248),
        (HrDsss, None, true, false, 352 + 10 + 304 + 10 + 192 + 272, 10 + 304),
        (Ofdm, None, false, false, 20 + 4 * 13, 16 + 44),
        (Ofdm, Some(Rate::OFDM_24), false, false, 20 + 4 * 4, 16 + 28),
        (Erp, None, false, false, 192 + 272, 10 + 304),
        (Erp, Some(Rate::OFDM_24), false, false, 20 + 4 * 4 + 6, 10 + 34),
        // Stations of 802.11b decode 1 Mbit/s without protection.
        (Erp, None, false, true, 192 + 272, 10 + 304),
        (Erp, Some(Rate::OFDM_24), false, true, 248 + 10 + 20 + 4 * 4 + 6, 10 + 34),
    ] {
        for settle in [true, false] {
            let mut config = WlanConfig { settle, ..config(standard) };
            config.mac.rts_threshold = if rts { AUTHENTICATION - 1 } else { AUTHENTICATION };
            config.mac.cts_to_self = cts;
            let mut cell = Cell::new(config, &[0.0, 1.0, 2.0]);
            let frame = RawFrame { rates: fixed(rate), ..cell.raw(Some(1), 3) };
            cell.put(us(1_000), 0, frame);
            cell.run(us(1_000_000));
            let end = (1_000 + to_end) * 1000;
            assert_eq!(cell.managed(), [(end, 1, 3)], "{standard:?} {rate:?} {rts} {cts} {settle}");
            assert_eq!(cell.raw_fates(), [(end + to_ack * 1000, 3, true)]);
        }
    }
}

#[test]
fn a_frame_has_the_plan_of_its_own_rate_whatever_went_before() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0]);
    let mut expected = Vec::new();
    for (number, (rate, micros)) in
        [(None, 192 + 272), (Some(Rate::CCK_11), 192 + 25), (None, 192 + 272)].into_iter().enumerate()
    {
        let start = 100_000 * (number as u64 + 1);
        let frame = RawFrame { rates: fixed(rate), ..cell.raw(Some(1), 3) };
        cell.put(us(start), 0, frame);
        expected.push(((start + micros) * 1000, 1, 3));
    }
    cell.run(us(1_000_000));
    assert_eq!(cell.managed(), expected);
}

#[test]
fn raw_frames_go_before_packets_that_wait_and_in_their_order() {
    for settle in [true, false] {
        let mut cell = Cell::new(WlanConfig { settle, ..config(Standard::HrDsss) }, &[0.0, 1.0]);
        for key in 0..3 {
            cell.send(us(1_000), 0, 1, key);
        }
        // The first packet is being transmitted.
        cell.manage(us(1_500), 0, Some(1), 10);
        cell.manage(us(1_500), 0, None, 11);
        cell.run(us(1_000_000));
        let order = cell.log.iter().filter_map(|(_, output)| match output {
            Output::Delivered { frame, .. } => Some(frame.key),
            Output::RawDelivered { key, .. } => Some(*key),
            _ => None,
        });
        assert_eq!(order.collect::<Vec<_>>(), [0, 10, 11, 1, 2]);
    }
}

#[test]
fn sixty_four_frames_wait_at_most() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0]);
    let accepted = (0..70).filter(|key| cell.manage(us(1_000), 0, Some(1), *key)).count();
    // One is being transmitted.
    assert_eq!(accepted, 65);
    cell.run(Instant::from_secs(10));
    assert_eq!(cell.raw_fates().iter().map(|fate| fate.1).collect::<Vec<_>>(), (0..65).collect::<Vec<_>>());
    assert!(cell.manage(Instant::from_secs(10), 0, Some(1), 70), "there is room again");
}

#[test]
fn a_frame_that_is_not_acknowledged_is_sent_to_its_retry_limit() {
    for (rts, what_is_sent) in [(false, "raw 5"), (true, "Rts")] {
        let mut config = by_frame(b(RANGES));
        config.mac.rts_threshold = if rts { 0 } else { 65_535 };
        // Out of range; a broadcast is sent once all the same.
        let mut cell = Cell::new(config, &[0.0, 10_000.0]);
        cell.manage(us(1_000), 0, Some(1), 5);
        cell.manage(us(1_000), 0, None, 6);
        cell.run(Instant::from_secs(1));
        let air = on_air();
        assert_eq!(air.iter().filter(|what| *what == what_is_sent).count(), 7, "{air:?}");
        assert_eq!(air.iter().filter(|what| *what == "raw 6").count(), 1);
        let fates: Vec<_> = cell.raw_fates().iter().map(|fate| (fate.1, fate.2)).collect();
        assert_eq!((fates, cell.managed()), (vec![(5, false), (6, true)], vec![]));
        let counters = cell.wlan.counters();
        assert_eq!((counters.attempts, counters.failures, counters.given_up), (0, 0, 0));
        assert_eq!(cell.wlan.used(cell.stations[0]), crate::Used::default());
    }
}

#[test]
fn neither_a_raw_frame_nor_a_packet_around_it_arrives_twice() {
    let mut checked = 0;
    for seed in 0..50 {
        let mut cell = Cell::seeded(by_frame(b(RANGES)), &[0.0, 1.0], seed);
        // The sequence numbers of packets and of raw frames differ.
        cell.manage(us(100), 0, Some(1), 8);
        cell.run(us(2_000));
        on_air();
        // Acknowledgments are lost for some time.
        let lossy = ErrorConfig::packets(Probability::ONE, true);
        cell.wlan.set_errors(cell.stations[1], cell.stations[0], lossy);
        cell.send(us(2_000), 0, 1, 0);
        cell.manage(us(2_500), 0, Some(1), 9);
        cell.run(us(9_000));
        cell.wlan.set_errors(cell.stations[1], cell.stations[0], ErrorConfig::none());
        cell.run(Instant::from_secs(1));
        let air = on_air();
        let of = |what: &str| air.iter().filter(|frame| *frame == what).count();
        assert_eq!(air[0], "data 0");
        // The raw frame was repeated between two transmissions of the packet.
        if of("raw 9") < 2 || of("data 0") < 2 {
            continue;
        }
        checked += 1;
        assert_eq!((cell.arrivals(0).len(), cell.managed().len()), (1, 2), "{air:?}");
        let (_, fate, transmissions) = cell.fates(0).last().copied().expect("it has one");
        assert_eq!(transmissions as usize, of("data 0"));
        assert!(fate == Fate::Delivered || transmissions == 7);
    }
    assert!(checked > 40, "{checked}");
}

#[test]
fn a_packet_that_was_transmitted_keeps_its_retry_count_while_a_raw_frame_goes_before_it() {
    let mut cell = Cell::new(by_frame(config(Standard::HrDsss)), &[0.0, 1.0]);
    // A station that refuses packets receives raw frames.
    cell.wlan.refuse_frames(cell.stations[1], true);
    cell.send(us(1_000), 0, 1, 0);
    cell.manage(us(5_000), 0, Some(1), 9);
    cell.run(Instant::from_secs(1));
    let air: Vec<_> = on_air().into_iter().filter(|what| what != "ACK").collect();
    let place = air.iter().position(|what| what == "raw 9").expect("it was sent");
    assert!(place > 0 && place < 7, "{air:?}");
    assert_eq!(air.len(), 8, "{air:?}");
    assert_eq!(cell.fates(0).last().map(|fate| (fate.1, fate.2)), Some((Fate::GivenUp, 7)));
    assert_eq!(cell.raw_fates().len(), 1);
    assert!(cell.raw_fates()[0].2);
}

/// Stations 0 and 1 begin to transmit to a station, or to all, on an idle medium at the same time.
fn at_once(cell: &mut Cell, to: Option<usize>) {
    for from in [0, 1] {
        let frame = cell.raw(to, from as u32);
        cell.wlan.enqueue_raw(us(1_000), cell.stations[from], frame);
    }
}

#[test]
fn broadcasts_that_overlap_destroy_each_other_and_unicast_frames_are_repeated() {
    for settle in [true, false] {
        let config = WlanConfig { settle, ..b(RANGES) };
        let mut cell = Cell::new(config.clone(), &[0.0, 1.0, 2.0]);
        at_once(&mut cell, None);
        cell.run(Instant::from_secs(1));
        assert_eq!((cell.managed(), cell.raw_fates().len()), (vec![], 2));

        let mut cell = Cell::new(config, &[0.0, 1.0, 2.0]);
        at_once(&mut cell, Some(2));
        cell.run(Instant::from_secs(1));
        assert_eq!(cell.managed().len(), 2);
        // Not before a time-out, a DIFS and a second transmission.
        let first = cell.managed()[0].0;
        assert!(first >= (1_000 + 464 + 222 + 50 + 464) * 1000, "{first}");
        assert!(cell.raw_fates().iter().all(|fate| fate.2));
    }
}

#[test]
fn a_frame_arrives_with_the_power_of_its_model() {
    let model = LogDistance::OFDM;
    for settle in [true, false] {
        let config = WlanConfig { settle, ..b(Propagation::LogDistance(model)) };
        let mut cell = Cell::new(config, &[0.0, 10.0, 40.0]);
        cell.manage(us(1_000), 0, None, 1);
        cell.run(us(100_000));
        cell.wlan.move_stations(us(100_000), &[(cell.stations[2], Position::new(20.0, 0.0))]);
        cell.manage(us(100_000), 0, Some(2), 2);
        cell.run(us(200_000));
        let powers = cell.log.iter().filter_map(|(_, output)| match output {
            Output::RawDelivered { at, key, power, .. } => Some((at.index(), *key, *power)),
            _ => None,
        });
        let power = |metres| Some(model.received_power(metres));
        let expected = [(1, 1, power(10.0)), (2, 1, power(40.0)), (2, 2, power(20.0))];
        assert_eq!(powers.collect::<Vec<_>>(), expected);
        assert_eq!(cell.wlan.received_power(cell.stations[1], cell.stations[2]), power(10.0));
    }
    let mut cell = Cell::new(b(RANGES), &[0.0, 10.0]);
    cell.manage(us(1_000), 0, None, 1);
    cell.run(us(100_000));
    assert!(cell.log.iter().any(|(_, it)| matches!(it, Output::RawDelivered { power: None, .. })));
}

#[test]
fn the_stronger_of_two_frames_is_captured() {
    // 30 dB a decade: the frame from 40 m has 12 dB less than that from 16 m. Their senders do not hear each
    // other.
    for (threshold, arrives) in [(10.0, vec![(0, 1)]), (20.0, vec![])] {
        let config = WlanConfig {
            capture: Some(Capture { threshold, later_frames: false }),
            ..b(Propagation::LogDistance(LogDistance::OFDM))
        };
        let mut cell = Cell::new(config, &[0.0, 16.0, -40.0]);
        cell.manage(us(1_000), 1, None, 1);
        cell.manage(us(1_000), 2, None, 2);
        cell.run(us(100_000));
        let managed: Vec<_> = cell.managed().iter().map(|(_, at, key)| (*at, *key)).collect();
        assert_eq!(managed, arrives);
    }
}

/// A frame for a station that does not answer is sent once for each try of its chain, at the rates of the chain.
#[test]
fn a_retry_chain_is_followed_to_its_end() {
    for settle in [true, false] {
        let mut cell = Cell::new(WlanConfig { settle, ..config(Standard::HrDsss) }, &[0.0, 1.0]);
        cell.wlan.tune(us(0), cell.stations[1], None);
        let chain = RetryChain::new(&[(Rate::CCK_11, 2), (Rate::DSSS_2, 1), (Rate::DSSS_1, 7)]);
        let rates = Rates::Chain(chain.expect("it is right"));
        cell.put(us(1_000), 0, RawFrame { rates, ..cell.raw(Some(1), 3) });
        cell.run(us(1_000_000));
        assert_eq!(cell.managed(), []);
        let fates = cell.log.iter().filter_map(|(_, output)| match output {
            Output::RawFate { acknowledged, transmissions, air_time, .. } => {
                Some((*acknowledged, *transmissions, *air_time))
            }
            _ => None,
        });
        // 34 octets behind a preamble of 192 us.
        let micros = 2 * (192 + 25) + (192 + 136) + 7 * (192 + 272);
        assert_eq!(fates.collect::<Vec<_>>(), [(false, 10, micros * 1000)], "{settle}");
    }
}
