//! Air times, interframe spaces and whole exchanges against sums by hand, to the nanosecond.

use std::time::Duration;

use lasthop_packet::Bitrate;

use super::support::{Cell, config, us};
use crate::output::Fate;
use crate::{MacFrame, Output, PhyConfig, Rate, Receiver, Standard, WlanConfig};

/// Octets of a packet; microseconds of its data frame, with 36 octets of headers and FCS.
fn check_data(phy: &PhyConfig, rate: Rate, octets: u32, micros: u64) {
    assert_eq!(phy.air_time(rate, octets + 36), Duration::from_micros(micros), "{rate:?} {octets}");
}

#[test]
fn dsss_and_cck_frames_take_their_preamble_and_whole_microseconds() {
    let long = PhyConfig::new(Standard::HrDsss);
    let short = PhyConfig::new(Standard::HrDsss).with_short_preamble();
    // 1,536 octets are 12,288 bits: 12,288 us, 6,144, 2,234.2 and 1,117.1.
    for (rate, with_long, with_short) in [
        (Rate::DSSS_1, 12_480, 12_480),
        (Rate::DSSS_2, 6_336, 6_240),
        (Rate::CCK_5_5, 2_427, 2_331),
        (Rate::CCK_11, 1_310, 1_214),
    ] {
        check_data(&long, rate, 1500, with_long);
        check_data(&short, rate, 1500, with_short);
    }
    // 76 octets are 608 bits: 55.3 us at 11 Mbit/s.
    check_data(&long, Rate::CCK_11, 40, 248);
    check_data(&short, Rate::CCK_11, 40, 152);
}

#[test]
fn a_bandwidth_of_its_own_is_that_of_all_bits_but_the_preambles() {
    let phy = |standard, bps| PhyConfig { bandwidth: Bitrate::from_bps(bps), ..PhyConfig::new(standard) };
    for (standard, rate) in
        [(Standard::Dsss, Rate::DSSS_2), (Standard::HrDsss, Rate::CCK_5_5), (Standard::Ofdm, Rate::OFDM_18)]
    {
        let (own, standards) = (phy(standard, rate.kbps() * 1000), PhyConfig::new(standard));
        for octets in [14, 20, 1_100] {
            assert_eq!(own.air_time(rate, octets), standards.air_time(rate, octets), "{standard:?}");
            let other = if rate.is_ofdm() { Rate::OFDM_6 } else { Rate::DSSS_1 };
            assert_eq!(
                own.air_time(other, octets),
                standards.air_time(rate, octets),
                "whatever it is called"
            );
        }
    }
    // 8,800 bits: 11,000 us at 800 kbit/s and 2,933.3 at 3 Mbit/s. At 1 bit/s, 2.4 hours.
    for (bps, micros) in [(800_000, 11_192), (3_000_000, 3_126), (1, 8_800_000_192)] {
        check_data(&phy(Standard::Dsss, bps), Rate::DSSS_1, 1_064, micros);
    }
    assert!(phy(Standard::Dsss, 1).air_time(Rate::DSSS_1, u32::MAX) > Duration::from_secs(1_000_000_000));
}

#[test]
fn ofdm_frames_take_whole_symbols() {
    let a = PhyConfig::new(Standard::Ofdm);
    // 12,310 bits with SERVICE and tail, in symbols of 24 to 216.
    for (rate, micros) in [
        (Rate::OFDM_6, 20 + 4 * 513),
        (Rate::OFDM_9, 20 + 4 * 342),
        (Rate::OFDM_12, 20 + 4 * 257),
        (Rate::OFDM_18, 20 + 4 * 171),
        (Rate::OFDM_24, 20 + 4 * 129),
        (Rate::OFDM_36, 20 + 4 * 86),
        (Rate::OFDM_48, 20 + 4 * 65),
        (Rate::OFDM_54, 20 + 4 * 57),
    ] {
        check_data(&a, rate, 1500, micros);
        check_data(&PhyConfig::new(Standard::Erp), rate, 1500, micros + 6);
    }
    check_data(&a, Rate::OFDM_54, 40, 32);
}

#[test]
fn inter_frame_spaces_are_the_standards() {
    let long_slots = PhyConfig { slot: Duration::from_micros(20), ..PhyConfig::new(Standard::Erp) };
    let short = PhyConfig::new(Standard::HrDsss).with_short_preamble();
    for (phy, difs, eifs, timeout) in [
        (PhyConfig::new(Standard::Dsss), 50, 10 + 304 + 50, 222),
        (PhyConfig::new(Standard::HrDsss), 50, 10 + 304 + 50, 222),
        (short, 50, 10 + 304 + 50, 126),
        (PhyConfig::new(Standard::Ofdm), 34, 16 + 44 + 34, 45),
        (PhyConfig::new(Standard::Erp), 28, 10 + 304 + 28, 39),
        (long_slots, 50, 10 + 304 + 50, 50),
    ] {
        let found = [phy.difs(), phy.eifs(), phy.response_timeout()].map(|time| time.as_micros());
        assert_eq!(found, [difs, eifs, timeout], "{:?}", phy.standard);
    }
}

#[test]
fn control_responses_go_at_the_highest_basic_rate_that_the_frame_allows() {
    let mut b = PhyConfig::new(Standard::HrDsss);
    assert_eq!(
        [Rate::DSSS_1, Rate::DSSS_2, Rate::CCK_11].map(|rate| b.response_rate(rate)),
        [Rate::DSSS_1, Rate::DSSS_2, Rate::DSSS_2]
    );
    b.basic_rates = vec![Rate::DSSS_1, Rate::CCK_11];
    assert_eq!(b.response_rate(Rate::CCK_5_5), Rate::DSSS_1);
    assert_eq!(b.response_rate(Rate::CCK_11), Rate::CCK_11);
    let mut g = PhyConfig::new(Standard::Erp);
    assert_eq!(
        [Rate::OFDM_9, Rate::OFDM_18, Rate::OFDM_54].map(|rate| g.response_rate(rate)),
        [Rate::OFDM_6, Rate::OFDM_12, Rate::OFDM_24]
    );
    // No basic rate of the frame's family: the highest mandatory one.
    g.basic_rates = vec![Rate::DSSS_1];
    assert_eq!(g.response_rate(Rate::OFDM_18), Rate::OFDM_12);
}

#[derive(Clone, Copy)]
struct Case {
    standard: Standard,
    rate: Rate,
    short: bool,
    rts: bool,
    cts_to_self: bool,
    octets: u32,
    /// From the start of the exchange to the end of the data frame, and of the ACK.
    micros: (u64, u64),
}

fn case(standard: Standard, rate: Rate, octets: u32, micros: (u64, u64)) -> Case {
    Case { standard, rate, short: false, rts: false, cts_to_self: false, octets, micros }
}

fn with_rts(case: Case) -> Case {
    Case { rts: true, ..case }
}

fn with_short(case: Case) -> Case {
    Case { short: true, ..case }
}

fn protected(case: Case) -> Case {
    Case { cts_to_self: true, ..case }
}

#[test]
fn an_exchange_takes_the_sum_of_its_frames_and_spaces() {
    use Standard::{Dsss, Erp, HrDsss, Ofdm};
    let cases = [
        // ACKs: 304 us at 1 Mbit/s, 248 at 2.
        case(Dsss, Rate::DSSS_1, 1500, (12_480, 12_480 + 10 + 304)),
        case(Dsss, Rate::DSSS_2, 1500, (6_336, 6_336 + 10 + 248)),
        with_rts(case(Dsss, Rate::DSSS_2, 1500, (272 + 10 + 248 + 10 + 6_336, 6_876 + 10 + 248))),
        case(HrDsss, Rate::CCK_11, 1500, (1_310, 1_568)),
        case(HrDsss, Rate::CCK_11, 40, (248, 506)),
        case(HrDsss, Rate::CCK_11, 512, (192 + 399, 591 + 258)),
        case(HrDsss, Rate::CCK_5_5, 1500, (2_427, 2_685)),
        with_short(case(HrDsss, Rate::CCK_11, 1500, (1_214, 1_214 + 10 + 152))),
        with_short(case(HrDsss, Rate::DSSS_1, 1500, (12_480, 12_794))),
        with_rts(case(HrDsss, Rate::CCK_11, 1500, (272 + 10 + 248 + 10 + 1_310, 2_108))),
        with_rts(with_short(case(HrDsss, Rate::CCK_11, 1500, (176 + 10 + 152 + 10 + 1_214, 1_724)))),
        // ACKs: 28 us at 24 Mbit/s, 44 at 6.
        case(Ofdm, Rate::OFDM_54, 1500, (248, 248 + 16 + 28)),
        case(Ofdm, Rate::OFDM_54, 40, (32, 32 + 16 + 28)),
        case(Ofdm, Rate::OFDM_36, 1500, (364, 364 + 16 + 28)),
        case(Ofdm, Rate::OFDM_6, 1500, (2_072, 2_072 + 16 + 44)),
        with_rts(case(Ofdm, Rate::OFDM_54, 1500, (28 + 16 + 28 + 16 + 248, 380))),
        // The same with 6 us after each frame, and a SIFS of 10 us.
        case(Erp, Rate::OFDM_54, 1500, (254, 254 + 10 + 34)),
        case(Erp, Rate::OFDM_6, 1500, (2_078, 2_078 + 10 + 50)),
        case(Erp, Rate::CCK_11, 1500, (1_310, 1_568)),
        with_rts(case(Erp, Rate::OFDM_54, 1500, (34 + 10 + 34 + 10 + 254, 386))),
        // A CTS at 2 Mbit/s before it: 248 us, 152 with the short preamble.
        protected(case(Erp, Rate::OFDM_54, 1500, (248 + 10 + 254, 556))),
        protected(with_short(case(Erp, Rate::OFDM_54, 1500, (152 + 10 + 254, 460)))),
        protected(with_rts(case(Erp, Rate::OFDM_54, 1500, (272 + 10 + 248 + 10 + 254, 838)))),
        // CCK needs no protection.
        protected(case(Erp, Rate::CCK_11, 1500, (1_310, 1_568))),
    ];
    for (number, case) in cases.into_iter().enumerate() {
        for settle in [true, false] {
            let mut config = WlanConfig { settle, ..config(case.standard) };
            config.phy.rate = case.rate;
            if case.short {
                config.phy = config.phy.with_short_preamble();
            }
            if case.rts {
                config.mac.rts_threshold = 0;
            }
            config.mac.cts_to_self = case.cts_to_self;
            let mut cell = Cell::new(config, &[0.0, 1.0]);
            let frame = MacFrame { to: Receiver::Station(cell.stations[1]), key: 7, octets: case.octets };
            // An idle medium: it goes at once.
            cell.wlan.enqueue(us(1_000), cell.stations[0], frame);
            cell.run(us(1_000_000));
            assert_eq!(cell.arrivals(0), [((1_000 + case.micros.0) * 1000, 7)], "case {number}");
            let over = (1_000 + case.micros.1) * 1000;
            assert_eq!(cell.fates(0), [(over, Fate::Delivered, 1)], "case {number}, settled: {settle}");
        }
    }
}

#[test]
fn air_time_counts_the_senders_own_frames() {
    let mut config = config(Standard::HrDsss);
    config.mac.rts_threshold = 0;
    let mut cell = Cell::new(config, &[0.0, 1.0]);
    cell.send(us(1_000), 0, 1, 0);
    cell.run(us(1_000_000));
    let air_time = cell.log.iter().find_map(|(_, output)| match output {
        Output::Fate { air_time, queueing: 0, access: 0, .. } => Some(*air_time),
        _ => None,
    });
    assert_eq!(air_time, Some((272 + 1_310) * 1000));
}

#[test]
fn a_frame_goes_at_the_lower_of_its_ends_rates() {
    let mut wlan = crate::Wlan::new(config(Standard::HrDsss), 1);
    let fast = wlan.add_station(&crate::StationConfig::default());
    let slow = crate::StationConfig { rate: Some(Rate::DSSS_1), ..crate::StationConfig::default() };
    let slow = wlan.add_station(&slow);
    for (from, to, start) in [(fast, slow, us(100_000)), (slow, fast, us(200_000))] {
        wlan.enqueue(start, from, MacFrame { to: Receiver::Station(to), key: 0, octets: 1500 });
        while let Some(now) = wlan.next_event_at() {
            wlan.on_event(now);
            while let Some(output) = wlan.poll() {
                if let Output::Delivered { .. } = output {
                    assert_eq!(now.since(start), Duration::from_micros(12_480));
                }
            }
        }
    }
}
