//! Durations of PPDUs of HT, VHT and HE: those of ns-3, and those of the standard where ns-3 has others.

use std::time::Duration;

use proptest::prelude::*;

use crate::{Band, Format, GuardInterval, Mcs, PhyConfig, PpduDurations, Rate, Standard, Width};

const WIDTHS: [Width; 4] = Width::ALL;
const GUARDS: [GuardInterval; 4] = GuardInterval::ALL;

/// Format, index for one stream, MHz, nanoseconds of the guard interval; nanoseconds of PPDUs of 1,536, 76 and 14
/// octets: the values of ns-3's `tx-duration-test`.
const NS3: [(Format, u8, u32, u64, [u64; 3]); 39] = {
    use Format::{He, Ht, Vht};
    [
        (Ht, 7, 20, 800, [228_000, 48_000, 40_000]),
        (Ht, 0, 20, 400, [1_742_400, 126_000, 57_600]),
        (Ht, 6, 20, 400, [226_800, 46_800, 39_600]),
        (Ht, 7, 40, 800, [128_000, 44_000, 40_000]),
        (Ht, 7, 40, 400, [118_800, 43_200, 39_600]),
        (Vht, 8, 20, 800, [196_000, 48_000, 40_000]),
        (Vht, 8, 20, 400, [180_000, 46_800, 39_600]),
        (Vht, 9, 40, 800, [108_000, 40_000, 40_000]),
        (Vht, 9, 40, 400, [100_800, 39_600, 39_600]),
        (Vht, 0, 80, 800, [460_000, 60_000, 44_000]),
        (Vht, 0, 80, 400, [417_600, 57_600, 43_200]),
        (Vht, 9, 80, 800, [68_000, 40_000, 40_000]),
        (Vht, 9, 80, 400, [64_800, 39_600, 39_600]),
        (Vht, 8, 160, 800, [56_000, 40_000, 40_000]),
        (Vht, 8, 160, 400, [54_000, 39_600, 39_600]),
        (He, 0, 20, 800, [1_485_600, 125_600, 71_200]),
        (He, 0, 40, 800, [764_800, 84_800, 57_600]),
        (He, 0, 80, 800, [397_600, 71_200, 57_600]),
        (He, 0, 160, 800, [220_800, 57_600, 57_600]),
        (He, 0, 20, 1600, [1_570_400, 130_400, 72_800]),
        (He, 0, 40, 1600, [807_200, 87_200, 58_400]),
        (He, 0, 80, 1600, [418_400, 72_800, 58_400]),
        (He, 0, 160, 1600, [231_200, 58_400, 58_400]),
        (He, 0, 20, 3200, [1_740_000, 140_000, 76_000]),
        (He, 0, 40, 3200, [892_000, 92_000, 60_000]),
        (He, 0, 80, 3200, [460_000, 76_000, 60_000]),
        (He, 0, 160, 3200, [252_000, 60_000, 60_000]),
        (He, 11, 20, 800, [139_200, 57_600, 57_600]),
        (He, 11, 40, 800, [98_400, 57_600, 57_600]),
        (He, 11, 80, 800, [71_200, 57_600, 57_600]),
        (He, 11, 160, 800, [57_600, 57_600, 57_600]),
        (He, 11, 20, 1600, [144_800, 58_400, 58_400]),
        (He, 11, 40, 1600, [101_600, 58_400, 58_400]),
        (He, 11, 80, 1600, [72_800, 58_400, 58_400]),
        (He, 11, 160, 1600, [58_400, 58_400, 58_400]),
        (He, 11, 20, 3200, [156_000, 60_000, 60_000]),
        (He, 11, 40, 3200, [108_000, 60_000, 60_000]),
        (He, 11, 80, 3200, [76_000, 60_000, 60_000]),
        (He, 11, 160, 3200, [60_000, 60_000, 60_000]),
    ]
};

fn mcs(format: Format, index: u8, streams: u8, mhz: u32, guard: u64) -> Rate {
    let width = WIDTHS.into_iter().find(|width| width.mhz() == mhz).expect("a width");
    let guard = GUARDS.into_iter().find(|interval| interval.nanos() == guard).expect("a guard interval");
    Mcs::new(format, index, streams, width, guard).expect("the standard has it").into()
}

fn phy(durations: PpduDurations) -> PhyConfig {
    PhyConfig { durations, width: Width::Mhz160, ..PhyConfig::new(Standard::He) }
}

#[test]
fn by_its_rules_durations_are_those_of_ns3_to_the_nanosecond() {
    for (format, index, mhz, guard, nanos) in NS3 {
        let rate = mcs(format, index, 1, mhz, guard);
        let found = [1_536, 76, 14].map(|octets| phy(PpduDurations::Ns3).air_time(rate, octets));
        assert_eq!(found, nanos.map(Duration::from_nanos), "{rate:?}");
    }
}

#[test]
fn the_standard_differs_from_ns3_by_rounding_a_field_and_training() {
    for (format, index, mhz, guard, nanos) in NS3 {
        let rate = mcs(format, index, 1, mhz, guard);
        for (octets, nanos) in [1_536, 76, 14].into_iter().zip(nanos) {
            let standard = match (format, guard) {
                // To symbols of 4 us, from the end of the preamble on.
                (Format::Ht, 400) => nanos.next_multiple_of(4_000),
                // The same, and VHT-SIG-B.
                (Format::Vht, _) => nanos.next_multiple_of(4_000) + 4_000,
                // HE-LTF of 7.2, 8 and 16 us.
                (Format::He, 800) => nanos - 800,
                (Format::He, 3200) => nanos + 8_000,
                _ => nanos,
            };
            let found = phy(PpduDurations::Standard).air_time(rate, octets);
            assert_eq!(found, Duration::from_nanos(standard), "{rate:?}");
        }
    }
}

#[test]
fn several_streams_need_training_fields_and_encoders() {
    let phy = phy(PpduDurations::Standard);
    // 12,310 bits; with a second encoder, 12,316. Preambles: 32, 36 and 36 us, and 4 or 7.2 us for each training field.
    for (rate, micros_of_preamble, bits, of_symbol) in [
        (mcs(Format::Ht, 7, 2, 20, 800), 40_000, 12_310, 520),
        (mcs(Format::Ht, 7, 3, 40, 800), 48_000, 12_316, 1_620),
        (mcs(Format::Vht, 9, 3, 20, 800), 52_000, 12_310, 1_040),
        (mcs(Format::Vht, 2, 7, 80, 800), 68_000, 12_304 + 3 * 6, 2_457),
        (mcs(Format::Vht, 9, 8, 160, 800), 68_000, 12_304 + 12 * 6, 24_960),
    ] {
        let symbols = u64::div_ceil(bits, of_symbol);
        let nanos = micros_of_preamble + symbols * 4_000;
        assert_eq!(phy.air_time(rate, 1_536), Duration::from_nanos(nanos), "{rate:?}");
        assert_eq!(rate.kbps(), of_symbol * 250, "{rate:?}");
    }
    let he = mcs(Format::He, 11, 2, 80, 800);
    assert_eq!(phy.air_time(he, 1_536), Duration::from_micros(64));
    assert_eq!(he.kbps(), 1_200_955);
}

#[test]
fn rates_are_those_of_the_standards_tables() {
    for (rate, kbps) in [
        (mcs(Format::Ht, 0, 1, 20, 800), 6_500),
        (mcs(Format::Ht, 7, 1, 20, 400), 72_222),
        (mcs(Format::Ht, 7, 4, 40, 400), 600_000),
        (mcs(Format::Vht, 8, 1, 20, 400), 86_666),
        (mcs(Format::Vht, 9, 1, 80, 400), 433_333),
        (mcs(Format::Vht, 9, 8, 160, 400), 6_933_333),
        (mcs(Format::He, 0, 1, 20, 800), 8_602),
        (mcs(Format::He, 9, 1, 80, 800), 480_367),
        (mcs(Format::He, 11, 1, 20, 3200), 121_875),
        (mcs(Format::He, 11, 8, 160, 800), 9_607_794),
    ] {
        assert_eq!(rate.kbps(), kbps, "{rate:?}");
    }
    // Tables 19-27 to 19-38, 21-29 to 21-60, 27-79 to 27-99: without those left out.
    let count = |format| Mcs::all(format).count();
    assert_eq!(count(Format::Ht), 8 * 4 * 2 * 2);
    let left_out = 6 + 2 + 1 + 1;
    assert_eq!(count(Format::Vht), (10 * 8 * 4 - left_out) * 2);
    assert_eq!(count(Format::He), 12 * 8 * 4 * 3);
    assert!(Mcs::new(Format::Vht, 9, 1, Width::Mhz20, GuardInterval::Ns800).is_none());
    assert!(Mcs::new(Format::Ht, 7, 1, Width::Mhz80, GuardInterval::Ns800).is_none());
    assert!(Mcs::new(Format::He, 7, 1, Width::Mhz80, GuardInterval::Ns400).is_none());
}

#[test]
fn responses_have_the_highest_basic_rate_up_to_the_reference_rate() {
    let phy = PhyConfig::new(Standard::Vht);
    let responses = |rates: [u8; 4]| {
        rates.map(|index| phy.response_rate(mcs(Format::Vht, index, 1, 80, 800))).map(Rate::kbps)
    };
    assert_eq!(responses([0, 1, 2, 3]), [6_000, 12_000, 12_000, 24_000]);
    assert_eq!(responses([4, 5, 8, 9]), [24_000; 4]);
    let all = PhyConfig { basic_rates: phy.non_ht_rates().collect(), ..PhyConfig::new(Standard::Vht) };
    let of = |index| all.response_rate(mcs(Format::Vht, index, 1, 80, 800)).kbps();
    assert_eq!(
        [0, 1, 2, 3, 4, 5, 6, 9].map(of),
        [6_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000, 54_000]
    );
}

#[test]
fn each_band_has_its_spaces_rates_and_formats() {
    for (standard, band, sifs, rates, extension) in [
        (Standard::Ht, Band::Ghz2_4, 10, 12, 6),
        (Standard::Ht, Band::Ghz5, 16, 8, 0),
        (Standard::Vht, Band::Ghz5, 16, 8, 0),
        (Standard::He, Band::Ghz2_4, 10, 12, 6),
        (Standard::He, Band::Ghz6, 16, 8, 0),
    ] {
        let phy = PhyConfig::in_band(standard, band);
        let times = [phy.sifs, phy.slot, phy.signal_extension].map(|time| time.as_micros());
        assert_eq!(times, [sifs, 9, extension], "{standard:?} {band:?}");
        assert_eq!(phy.non_ht_rates().count(), rates);
        assert!(phy.has_rate(phy.rate));
    }
    let has = |band| [Format::Ht, Format::Vht, Format::He].map(|it| Standard::He.has_format(it, band));
    assert_eq!(has(Band::Ghz2_4), [true, false, true]);
    assert_eq!(has(Band::Ghz5), [true; 3]);
    assert_eq!(has(Band::Ghz6), [false, false, true]);
    assert!(!Standard::Vht.is_in(Band::Ghz2_4) && !Standard::Ht.is_in(Band::Ghz6));
}

proptest! {
    #[test]
    fn more_octets_never_take_less_time_and_a_symbol_more_at_most_one_symbol(
        format in prop_oneof![Just(Format::Ht), Just(Format::Vht), Just(Format::He)],
        choice in any::<prop::sample::Index>(),
        octets in 1_u32..6_500_000,
    ) {
        let schemes: Vec<Mcs> = Mcs::all(format).collect();
        let mcs = schemes[choice.index(schemes.len())];
        for durations in [PpduDurations::Standard, PpduDurations::Ns3] {
            let phy = phy(durations);
            let (one, next) = (phy.air_time(mcs.into(), octets), phy.air_time(mcs.into(), octets + 1));
            prop_assert!(one <= next && next <= one + mcs.symbol() + Duration::from_nanos(3_600));
            // The data alone takes no less time than its bits at the nominal rate.
            let bits = f64::from(octets) * 8.0;
            let nominal = bits / mcs.bits_per_symbol() as f64 * mcs.symbol().as_secs_f64();
            prop_assert!(one.as_secs_f64() > nominal && one.as_secs_f64() < nominal + 200e-6);
        }
    }
}
