//! Beacons and PS-Polls against sums by hand, to the microsecond.
//!
//! A beacon has 24 octets of MAC header, 12 of fixed fields (timestamp, interval, capabilities), 9
//! of SSID, its rates, 3 of DSSS parameter set, 5 and the bitmap of TIM, 4 of FCS. 802.11 has 4
//! octets of rates, 802.11b 6; 802.11g has 10, 6 of extended rates and 3 of ERP information; 802.11a
//! has 10 and no DSSS parameter set. A PS-Poll has 20.

use std::time::Duration;

use super::support::{Cell, by_frame, ms, power_save};
use crate::frame::Kind;
use crate::own_frame::OwnFrame;
use crate::{Rate, Standard, StationId, WlanConfig};

/// Octets and microseconds of a beacon whose TIM has these stations' bits, sent at a rate.
fn check_beacon(standard: Standard, short: bool, rate: Rate, set: &[usize], octets: u32, micros: u64) {
    let mut config = WlanConfig { settle: false, ..WlanConfig::new(standard) };
    if short {
        config.phy = config.phy.with_short_preamble();
    }
    config.phy.basic_rates = vec![rate];
    let mut cell = Cell::new(config, power_save(), (60, 0));
    for station in set {
        cell.send(ms(1), 0, *station, 0);
    }
    let plan = cell.wlan.plan_own(0, OwnFrame::Beacon);
    assert_eq!(plan.data.psdu.octets, octets, "{standard:?} {set:?}");
    assert_eq!(plan.frames()[0].1, micros * 1_000, "{standard:?} {rate:?} {set:?}");
    // The same on the air.
    cell.run(ms(100));
    cell.run(ms(100) + Duration::from_micros(micros));
    let start = 100_000_000;
    assert_eq!(cell.times("beacon")[1], (start, start + micros * 1_000));
}

#[test]
fn a_beacon_of_802_11b_takes_its_preamble_and_whole_microseconds() {
    let check = |short, rate, set: &[usize], octets, micros| {
        check_beacon(Standard::HrDsss, short, rate, set, octets, micros);
    };
    // 24 + 12 + 9 + 6 + 3 + 5 + 4 = 63, and the bitmap: 1 octet if no bit is set, or only station 7's.
    for (set, octets, bits) in [(&[][..], 64, 512), (&[7], 64, 512), (&[16], 64, 512)] {
        check(false, Rate::DSSS_1, set, octets, 192 + bits);
        check(false, Rate::DSSS_2, set, octets, 192 + 256);
        // 93.1 and 46.5 us.
        check(false, Rate::CCK_5_5, set, octets, 192 + 94);
        check(false, Rate::CCK_11, set, octets, 192 + 47);
        // 1 Mbit/s has the long preamble always.
        check(true, Rate::DSSS_1, set, octets, 192 + bits);
        check(true, Rate::DSSS_2, set, octets, 96 + 256);
        check(true, Rate::CCK_5_5, set, octets, 96 + 94);
        check(true, Rate::CCK_11, set, octets, 96 + 47);
    }
    // Octets 0 and 1; 0 to 7: 70 octets are 560 bits, 101.8 us at 5.5 Mbit/s, 50.9 at 11.
    check(false, Rate::DSSS_1, &[8], 65, 192 + 520);
    for (rate, long, short) in [
        (Rate::DSSS_1, 192 + 560, 192 + 560),
        (Rate::DSSS_2, 192 + 280, 96 + 280),
        (Rate::CCK_5_5, 192 + 102, 96 + 102),
        (Rate::CCK_11, 192 + 51, 96 + 51),
    ] {
        check(false, rate, &[1, 50], 70, long);
        check(true, rate, &[1, 50], 70, short);
    }
}

#[test]
fn beacons_of_the_other_standards_have_other_elements() {
    use Standard::{Dsss, Erp, Ofdm};
    // 24 + 12 + 9 + 4 + 3 + 5 + 1 + 4.
    check_beacon(Dsss, false, Rate::DSSS_1, &[], 62, 192 + 496);
    check_beacon(Dsss, false, Rate::DSSS_2, &[1, 50], 68, 192 + 272);
    // 24 + 12 + 9 + 10 + 5 + 1 + 4 = 69 without, 65: 24 + 12 + 9 + 10 + 6 + 4. 520 bits and 22 are
    // 22.6 symbols of 24 bits, 11.3 of 48, 5.6 of 96.
    check_beacon(Ofdm, false, Rate::OFDM_6, &[], 65, 20 + 4 * 23);
    check_beacon(Ofdm, false, Rate::OFDM_12, &[], 65, 20 + 4 * 12);
    check_beacon(Ofdm, false, Rate::OFDM_24, &[], 65, 20 + 4 * 6);
    // 24 + 12 + 9 + 10 + 6 + 3 + 3 + 6 + 4 = 77: 616 bits. With 22 they are 26.6 symbols of 24
    // bits, 13.3 of 48, 6.6 of 96; and 6 us of signal extension.
    check_beacon(Erp, false, Rate::DSSS_1, &[], 77, 192 + 616);
    check_beacon(Erp, true, Rate::DSSS_2, &[], 77, 96 + 308);
    check_beacon(Erp, false, Rate::CCK_5_5, &[], 77, 192 + 112);
    check_beacon(Erp, false, Rate::CCK_11, &[], 77, 192 + 56);
    check_beacon(Erp, false, Rate::OFDM_6, &[], 77, 20 + 4 * 27 + 6);
    check_beacon(Erp, false, Rate::OFDM_12, &[], 77, 20 + 4 * 14 + 6);
    check_beacon(Erp, false, Rate::OFDM_24, &[], 77, 20 + 4 * 7 + 6);
    check_beacon(Erp, false, Rate::OFDM_6, &[1, 50], 83, 20 + 4 * 29 + 6);
}

/// Microseconds of a PS-Poll and of its ACK, for data at a rate.
fn check_poll(standard: Standard, short: bool, rate: Rate, basic: &[Rate], micros: (u64, u64)) {
    let mut config = WlanConfig { ..WlanConfig::new(standard) };
    config.phy.rate = rate;
    if short {
        config.phy = config.phy.with_short_preamble();
    }
    if !basic.is_empty() {
        config.phy.basic_rates = basic.to_vec();
    }
    let cell = Cell::new(config, power_save(), (1, 0));
    let plan = cell.wlan.plan_own(1, OwnFrame::PsPoll { to: StationId::from_index(0) });
    let found = (plan.frames()[0].1 / 1_000, plan.frames()[1].1 / 1_000);
    assert_eq!(found, micros, "{standard:?} {rate:?} {short}");
}

#[test]
fn a_ps_poll_goes_at_the_rate_of_control_frames() {
    use Standard::{Dsss, Erp, HrDsss, Ofdm};
    // 160 bits; an ACK has 112. By default 1 and 2 Mbit/s are basic rates.
    check_poll(HrDsss, false, Rate::CCK_11, &[], (192 + 80, 192 + 56));
    check_poll(HrDsss, true, Rate::CCK_11, &[], (96 + 80, 96 + 56));
    check_poll(HrDsss, false, Rate::DSSS_1, &[], (192 + 160, 192 + 112));
    check_poll(HrDsss, true, Rate::DSSS_1, &[], (192 + 160, 192 + 112));
    check_poll(Dsss, false, Rate::DSSS_2, &[], (192 + 80, 192 + 56));
    // 29.1 and 20.4 us; 14.5 and 10.2.
    check_poll(HrDsss, false, Rate::CCK_5_5, &[Rate::CCK_5_5], (192 + 30, 192 + 21));
    check_poll(HrDsss, true, Rate::CCK_5_5, &[Rate::CCK_5_5], (96 + 30, 96 + 21));
    check_poll(HrDsss, false, Rate::CCK_11, &[Rate::CCK_11], (192 + 15, 192 + 11));
    check_poll(HrDsss, true, Rate::CCK_11, &[Rate::CCK_11], (96 + 15, 96 + 11));
    // 182 bits and 134 with SERVICE and tail: 8 and 6 symbols at 6 Mbit/s, 4 and 3 at 12, 2 and 2
    // at 24. 802.11g has 6 us of signal extension.
    for (rate, poll, ack) in
        [(Rate::OFDM_6, 52, 44), (Rate::OFDM_12, 36, 32), (Rate::OFDM_24, 28, 28), (Rate::OFDM_54, 28, 28)]
    {
        check_poll(Ofdm, false, rate, &[], (poll, ack));
        check_poll(Erp, false, rate, &[], (poll + 6, ack + 6));
    }
    check_poll(Erp, false, Rate::CCK_11, &[], (192 + 80, 192 + 56));
}

#[test]
fn a_ps_poll_of_802_11g_is_heard_by_stations_of_802_11b_where_they_are_protected() {
    let mut config = WlanConfig::new(Standard::Erp);
    config.mac.cts_to_self = true;
    let cell = Cell::new(config, power_save(), (1, 0));
    let plan = cell.wlan.plan_own(1, OwnFrame::PsPoll { to: StationId::from_index(0) });
    assert_eq!(plan.frames(), [(Kind::Data, 272_000), (Kind::Ack, 248_000)]);
}

#[test]
fn a_fetch_takes_the_sum_of_its_frames_and_spaces() {
    // Backoffs of at most one slot leave 0, 1 or 2 slots between these.
    let mut config = by_frame();
    config.phy.cw_min = 0;
    config.phy.cw_max = 0;
    let mut cell = Cell::new(config, power_save(), (1, 0));
    cell.send(ms(50), 0, 1, 1);
    cell.run(ms(190));
    // Beacon, DIFS, PS-Poll, SIFS, ACK, DIFS, data: 192 us and 8,288 bits at 11 Mbit/s.
    let sum = 704 + 50 + 272 + 10 + 248 + 50 + (192 + 754);
    assert_eq!(cell.arrivals(1), [(100_000_000 + sum * 1_000, 1)]);
    assert_eq!(cell.awake(1, ms(190)), (704 + sum + 10 + 248) * 1_000);
}
