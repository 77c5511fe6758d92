//! One sender of 802.11n, ac or ax that always has another packet: the closed form, with and without aggregation.

use std::time::Duration;

use lasthop_link::QueueLimit;
use lasthop_packet::Instant;

use super::support::Cell;
use crate::{
    Aggregation, Band, DataOverhead, Format, GuardInterval, MacConfig, Mcs, PhyConfig, RawFrame, Standard,
    Width, WlanConfig,
};

/// A cell of the oldest standard that has this scheme, with it.
fn config(mcs: Mcs, aggregation: Option<Aggregation>) -> WlanConfig {
    let standard = match mcs.format() {
        Format::Ht => Standard::Ht,
        Format::Vht => Standard::Vht,
        Format::He => Standard::He,
    };
    let phy = PhyConfig { width: mcs.width(), rate: mcs.into(), ..PhyConfig::new(standard) };
    let mac = MacConfig { aggregation, ..MacConfig::new(standard) };
    let config = WlanConfig { phy, mac, ..WlanConfig::new(standard) };
    assert_eq!(config.problem(), None);
    config
}

/// A cell with one sender that always has this number of packets.
fn saturated(config: WlanConfig, packets: usize) -> Cell {
    let mut cell = Cell::with_queues(QueueLimit::Unlimited, config, &[0.0, 1.0], 1);
    cell.saturate_with(packets, 0, 1);
    cell
}

/// Nanoseconds from the beginning of an exchange to that of the next, without backoff, and the number of packets that it
/// delivers.
fn cycle(mut config: WlanConfig, packets: usize) -> (u64, u64) {
    (config.phy.cw_min, config.phy.cw_max) = (0, 0);
    let mut cell = saturated(config, packets);
    let mut begins: Vec<u64> = Vec::new();
    while begins.len() < 4 {
        let next = cell.wlan.next_event_at().expect("it always has another packet");
        cell.run(next);
        begins = cell.begins(0);
        begins.dedup();
    }
    let arrivals = cell.arrivals(0);
    let within = |at: &u64| (begins[1]..begins[2]).contains(at);
    (begins[2] - begins[1], arrivals.iter().filter(|(at, _)| within(at)).count() as u64)
}

/// Octets of a packet with its headers and FCS, alone in its MPDU.
const MPDU: u64 = 1_538;

/// The duration of a PPDU by the tables: data subcarriers, bits of each, code rate.
fn ppdu(mcs: Mcs, octets: u64) -> u64 {
    let subcarriers = match (mcs.format(), mcs.width()) {
        (Format::He, width) => [234, 468, 980, 1960][width as usize],
        (_, width) => [52, 108, 234, 468][width as usize],
    };
    let (bits, numerator, denominator) = [
        (1, 1, 2),
        (2, 1, 2),
        (2, 3, 4),
        (4, 1, 2),
        (4, 3, 4),
        (6, 2, 3),
        (6, 3, 4),
        (6, 5, 6),
        (8, 3, 4),
        (8, 5, 6),
        (10, 3, 4),
        (10, 5, 6),
    ][usize::from(mcs.index())];
    let streams = u64::from(mcs.streams());
    let of_symbol = subcarriers * streams * bits * numerator / denominator;
    let training = if streams == 1 { 1 } else { streams.next_multiple_of(2) };
    let guard = mcs.guard_interval().nanos();
    let (preamble, symbol): (u64, u64) = match mcs.format() {
        Format::Ht => (32_000 + training * 4_000, 3_200 + guard),
        Format::Vht => (36_000 + training * 4_000, 3_200 + guard),
        Format::He if guard == 3_200 => (36_000 + training * 16_000, 16_000),
        Format::He => (36_000 + training * (6_400 + guard), 12_800 + guard),
    };
    // The tail bits of one encoder; those of others are within the last symbol of these lengths, except where tested alone.
    let tail = if mcs.format() == Format::He { 0 } else { 6 };
    let data = (16 + octets * 8 + tail).div_ceil(of_symbol) * symbol;
    preamble + if mcs.format() == Format::He { data } else { data.next_multiple_of(4_000) }
}

/// The duration of all in an exchange but the PPDU: AIFS, SIFS, and a response of this length at 6, 12 or 24 Mbit/s.
fn around(mcs: Mcs, response: u64) -> u64 {
    let bits_of_symbol = match mcs.index() {
        0 => 24,
        1 | 2 => 48,
        _ => 96,
    };
    let response = 20_000 + (16 + response * 8 + 6_u64).div_ceil(bits_of_symbol) * 4_000;
    16_000 + 3 * 9_000 + 16_000 + response
}

/// An exchange of a packet alone, in VHT and HE behind a delimiter.
fn by_the_tables(mcs: Mcs) -> u64 {
    let octets = if mcs.format() == Format::Ht { MPDU } else { MPDU + 4 };
    around(mcs, 14) + ppdu(mcs, octets)
}

/// An exchange of A-MPDUs whose MPDUs have this length, and the number of MPDUs: as many as are within the limits.
fn of_ampdus(mcs: Mcs, mpdu: u64, limits: &Aggregation) -> (u64, u64) {
    let octets = |count: u64| (count - 1) * (4 + mpdu).next_multiple_of(4) + 4 + mpdu;
    let is_within =
        |count: &u64| octets(*count) <= u64::from(limits.ampdu) && ppdu(mcs, octets(*count)) <= 5_484_000;
    let most = (2..=u64::from(limits.window)).take_while(is_within).last();
    let response = if limits.window > 64 { 56 } else { 32 };
    match most {
        Some(count) => (around(mcs, response) + ppdu(mcs, octets(count)), count),
        None => (around(mcs, 14) + ppdu(mcs, if mcs.format() == Format::Ht { mpdu } else { mpdu + 4 }), 1),
    }
}

/// The schemes of a format with the fewest and the most streams, and the guard interval that all formats have.
fn schemes(format: Format) -> impl Iterator<Item = Mcs> {
    Mcs::all(format).filter(move |mcs| {
        [1, format.streams()].contains(&mcs.streams()) && mcs.guard_interval() == GuardInterval::Ns800
    })
}

const FORMATS: [Format; 3] = [Format::Ht, Format::Vht, Format::He];

#[test]
fn an_exchange_with_each_scheme_takes_the_sum_of_the_tables() {
    for format in FORMATS {
        for mcs in Mcs::all(format) {
            assert_eq!(cycle(config(mcs, None), 2), (by_the_tables(mcs), 1), "{mcs:?}");
        }
    }
}

#[test]
fn an_ampdu_has_as_many_mpdus_as_are_within_the_limits() {
    for format in FORMATS {
        for mcs in schemes(format) {
            let limits = Aggregation::new(format);
            let found = cycle(config(mcs, Some(limits.clone())), 600);
            assert_eq!(found, of_ampdus(mcs, MPDU, &limits), "{mcs:?}");
        }
    }
}

#[test]
fn an_amsdu_has_as_many_packets_as_are_within_the_limit() {
    for (format, amsdu, packets) in
        [(Format::Ht, 7_935, 5), (Format::Vht, 11_454, 7), (Format::He, 11_454, 7)]
    {
        for mcs in schemes(format) {
            let limits = Aggregation { amsdu, ampdu: 0, ..Aggregation::new(format) };
            // Each packet has 14 octets and an LLC header before it, and is padded, except the last.
            let length = |packets: u64| 30 + (packets - 1) * 1_524 + 1_522;
            let delimiter = if format == Format::Ht { 0 } else { 4 };
            let of = |packets| ppdu(mcs, length(packets) + delimiter);
            let fits = (2..=packets).take_while(|packets| of(*packets) <= 5_484_000).last();
            let expected = match fits {
                Some(packets) => (around(mcs, 14) + of(packets), packets),
                None => (by_the_tables(mcs), 1),
            };
            assert_eq!(cycle(config(mcs, Some(limits)), 20), expected, "{mcs:?}");
        }
    }
}

#[test]
fn an_ampdu_carries_amsdus() {
    for format in FORMATS {
        for mcs in schemes(format) {
            let limits = Aggregation { amsdu: 3_839, ampdu: 32_768, ..Aggregation::new(format) };
            let (nanos, packets) = cycle(config(mcs, Some(limits.clone())), 200);
            let (expected, mpdus) = of_ampdus(mcs, 30 + 1_524 + 1_522, &limits);
            // Where another packet fits alone and two do not, the last MPDU has one.
            assert!((2 * mpdus..=2 * mpdus + 1).contains(&packets), "{mcs:?}: {packets} {mpdus}");
            if packets == 2 * mpdus {
                assert_eq!(nanos, expected, "{mcs:?}");
            }
        }
    }
}

#[test]
fn at_2_4_ghz_spaces_are_shorter_and_frames_are_extended() {
    let mcs = Mcs::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).expect("a scheme");
    let config = config(mcs, None);
    let phy = PhyConfig { rate: mcs.into(), ..PhyConfig::in_band(Standard::Ht, Band::Ghz2_4) };
    // SIFS of 10 us twice, and 6 us after the data and the ACK.
    let found = cycle(WlanConfig { phy, ..config }, 2);
    assert_eq!(found, (by_the_tables(mcs) - 2 * 6_000 + 2 * 6_000, 1));
}

/// UDP payload in Mbit/s: 1,500 octets without the headers of IP and UDP, with a mean backoff of 7.5 slots.
fn closed_form((nanos, packets): (u64, u64)) -> f64 {
    packets as f64 * 1_472.0 * 8.0 / (nanos as f64 / 1e3 + 7.5 * 9.0)
}

/// The same as simulated, in the first ten seconds. `beacons`: whether the sender broadcasts one of 155 octets each 102.4 ms,
/// as ns-3's access points do.
fn simulated(config: WlanConfig, beacons: bool) -> f64 {
    let mut cell = saturated(config, 300);
    let end = Instant::from_secs(10);
    let beacon = RawFrame { octets: 155, ..cell.raw(None, 0) };
    for number in (1..98).filter(|_| beacons) {
        let at = Instant::from_nanos(number * 102_400_000);
        cell.run(at);
        cell.put(at, 0, beacon);
    }
    cell.run(end);
    cell.rate(0, (Instant::ZERO, end)) * 1_472.0 * 8.0 / 1e6
}

#[test]
fn one_saturated_sender_is_within_the_ranges_that_ns3_accepts() {
    let ht = |index| Mcs::new(Format::Ht, index, 1, Width::Mhz20, GuardInterval::Ns800).expect("a scheme");
    let fastest = ht(7);
    let default = Aggregation::new(Format::Ht);
    let amsdu = Aggregation { amsdu: 7_935, ampdu: 0, ..default.clone() };
    let both = Aggregation { amsdu: 3_839, ampdu: 32_768, ..default.clone() };
    let of_amsdu = around(fastest, 14) + ppdu(fastest, 30 + 4 * 1_524 + 1_522);
    // Ten MPDUs with two packets each, and one with one.
    let of_both = (around(fastest, 32) + ppdu(fastest, 10 * 3_080 + 4 + MPDU), 21);
    for (aggregation, range, cycle) in [
        (None, 30.0..31.0, (by_the_tables(fastest), 1)),
        (Some(amsdu), 51.0..52.0, (of_amsdu, 5)),
        (Some(default.clone()), 59.0..60.0, of_ampdus(fastest, MPDU, &default)),
        (Some(both), 58.0..59.0, of_both),
    ] {
        let megabits = simulated(config(fastest, aggregation.clone()), true);
        assert!(range.contains(&megabits), "{megabits} {range:?}");
        let (megabits, expected) = (simulated(config(fastest, aggregation), false), closed_form(cycle));
        assert!((megabits / expected - 1.0).abs() < 0.002, "{megabits} {expected}");
    }
    // With a TXOP limit of 3.52 ms.
    for (aggregation, range) in [
        (None, 38.0..39.0),
        (Some(Aggregation { amsdu: 7_935, ampdu: 0, ..default.clone() }), 52.0..53.0),
        (Some(default.clone()), 57.5..58.5),
        (Some(Aggregation { amsdu: 3_839, ampdu: 32_768, ..default.clone() }), 58.0..59.0),
    ] {
        let mut config = config(fastest, aggregation);
        config.mac.txop_limit = Duration::from_micros(3_520);
        let megabits = simulated(config, true);
        assert!(range.contains(&megabits), "{megabits} {range:?}");
    }
    // As ns-3's example has them, with A-MPDUs.
    let of_ns3 = [5.81, 11.83, 17.79, 23.80, 35.73, 47.62, 53.61, 59.55];
    for (index, expected) in of_ns3.into_iter().enumerate() {
        let megabits = simulated(config(ht(index as u8), Some(default.clone())), true);
        assert!((megabits / expected - 1.0_f64).abs() < 0.002, "MCS {index}: {megabits} {expected}");
    }
}

#[test]
fn a_station_of_802_11a_sends_as_many_packets_as_fit_into_its_txop() {
    // ns-3's example `wifi-80211e-txop`: stations of 802.11a with QoS, best effort.
    for (micros, range) in [(0, 28.0..29.0), (4_096, 36.5..37.0)] {
        let mut config = WlanConfig::new(Standard::Ofdm);
        config.mac.aifsn = 3;
        config.mac.overhead = DataOverhead::QOS;
        config.mac.txop_limit = Duration::from_micros(micros);
        let megabits = simulated(config.clone(), true);
        assert!(range.contains(&megabits), "{megabits} {range:?}");
    }
}
