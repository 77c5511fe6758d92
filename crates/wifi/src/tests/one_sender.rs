//! One sender of 802.11n, ac or ax that always has another packet, without aggregation: the closed form.

use lasthop_packet::Instant;

use super::support::Cell;
use crate::{Band, Format, GuardInterval, MacConfig, Mcs, PhyConfig, Standard, Width, WlanConfig};

/// A cell of the newest standard that has this scheme, with it.
fn config(mcs: Mcs) -> WlanConfig {
    let standard = match mcs.format() {
        Format::Ht => Standard::Ht,
        Format::Vht => Standard::Vht,
        Format::He => Standard::He,
    };
    let phy = PhyConfig { width: mcs.width(), rate: mcs.into(), ..PhyConfig::new(standard) };
    let mac = MacConfig { aggregation: None, ..MacConfig::new(standard) };
    WlanConfig { phy, mac, ..WlanConfig::new(standard) }
}

/// Nanoseconds from the beginning of an exchange to that of the next, without backoff.
fn cycle(mut config: WlanConfig) -> u64 {
    (config.phy.cw_min, config.phy.cw_max) = (0, 0);
    let mut cell = Cell::new(config, &[0.0, 1.0]);
    cell.saturate(0, 1);
    cell.run(Instant::from_millis(30));
    let begins = cell.begins(0);
    begins[2] - begins[1]
}

/// The same by the tables: data subcarriers, bits of each, code rate. 1,538 octets with MAC header, LLC and FCS, in VHT and
/// HE behind a delimiter.
fn by_the_tables(mcs: Mcs) -> u64 {
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
    let (octets, preamble, symbol): (u64, u64, u64) = match mcs.format() {
        Format::Ht => (1_538, 32_000 + training * 4_000, 3_200 + guard),
        Format::Vht => (1_542, 36_000 + training * 4_000, 3_200 + guard),
        Format::He if guard == 3_200 => (1_542, 36_000 + training * 16_000, 16_000),
        Format::He => (1_542, 36_000 + training * (6_400 + guard), 12_800 + guard),
    };
    // The tail bits of one encoder; those of others are within the last symbol of these lengths, except where tested alone.
    let tail = if mcs.format() == Format::He { 0 } else { 6 };
    let data = (16 + octets * 8 + tail).div_ceil(of_symbol) * symbol;
    let data = if mcs.format() == Format::He { data } else { data.next_multiple_of(4_000) };
    // ACKs at 6, 12 and 24 Mbit/s.
    let ack = match mcs.index() {
        0 => 44_000,
        1 | 2 => 32_000,
        _ => 28_000,
    };
    let aifs = 16_000 + 3 * 9_000;
    aifs + preamble + data + 16_000 + ack
}

#[test]
fn an_exchange_with_each_scheme_takes_the_sum_of_the_tables() {
    for format in [Format::Ht, Format::Vht, Format::He] {
        for mcs in Mcs::all(format) {
            assert_eq!(cycle(config(mcs)), by_the_tables(mcs), "{mcs:?}");
        }
    }
}

#[test]
fn at_2_4_ghz_spaces_are_shorter_and_frames_are_extended() {
    let mcs = Mcs::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).expect("a scheme");
    let config = config(mcs);
    let phy = PhyConfig { rate: mcs.into(), ..PhyConfig::in_band(Standard::Ht, Band::Ghz2_4) };
    // SIFS of 10 us twice, and 6 us after the data and the ACK.
    let found = cycle(WlanConfig { phy, ..config });
    assert_eq!(found, by_the_tables(mcs) - 2 * 6_000 + 2 * 6_000);
}

#[test]
fn one_saturated_sender_is_within_the_range_that_ns3_accepts() {
    let mcs = Mcs::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).expect("a scheme");
    let mut cell = Cell::new(config(mcs), &[0.0, 1.0]);
    cell.saturate(0, 1);
    cell.run(Instant::from_secs(20));
    // UDP payload: 1,500 octets without the headers of IP and UDP.
    let megabits = cell.rate(0, (Instant::from_secs(1), Instant::from_secs(20))) * 1_472.0 * 8.0 / 1e6;
    // With a mean backoff of 7.5 slots.
    let closed_form = 1_472.0 * 8.0 / (by_the_tables(mcs) as f64 / 1e3 + 7.5 * 9.0);
    assert!((30.0..31.0).contains(&megabits), "{megabits}");
    assert!((megabits / closed_form - 1.0).abs() < 0.005, "{megabits} {closed_form}");
}
