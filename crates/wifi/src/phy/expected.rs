//! The air time that Linux expects a frame to take, before it is sent: an estimate that is coarse on purpose
//! (`net/mac80211/airtime.c`). Airtime queue limits go by it; what a frame really takes is another matter.

use super::Preamble;
use super::mcs::{Format, Mcs};
use super::rate::Rate;

/// What Linux adds to a frame with its Ethernet header.
const OVERHEAD_OCTETS: u64 = 14 + 38;

/// The average packet, in bits: the time for its data is what others are computed from.
const AVERAGE_BITS: u64 = 1_024 * 8;

/// The air time that Linux expects of a packet of this length at this rate, in microseconds. With `in_ampdu` it has a
/// part of the overhead of an A-MPDU whose length Linux guesses by the rate.
///
/// The bits of a symbol are the standard's. For HE, Linux's table has up to 2% fewer.
pub(crate) fn expected_air_time(rate: Rate, preamble: Preamble, octets: u32, in_ampdu: bool) -> u32 {
    let octets = u64::from(octets) + OVERHEAD_OCTETS;
    let micros = match rate.mcs() {
        Some(mcs) => of_mcs(mcs, octets, in_ampdu),
        None => of_non_ht(rate, preamble, octets),
    };
    u32::try_from(micros).unwrap_or(u32::MAX)
}

fn of_non_ht(rate: Rate, preamble: Preamble, octets: u64) -> u64 {
    let data = octets * 8 * 1_000 / rate.kbps();
    let (preamble, sifs) = match (rate.is_ofdm(), preamble) {
        (true, _) => (20, 16),
        (false, Preamble::Long) => (192, 10),
        (false, Preamble::Short) => (96, 10),
    };
    preamble + sifs + data
}

fn of_mcs(mcs: Mcs, octets: u64, in_ampdu: bool) -> u64 {
    let average = average_duration(mcs);
    let data = average * octets / 1_024 / 1_024;
    let overhead = 36 + 4 * u64::from(mcs.streams());
    if in_ampdu { (data + (overhead >> ampdu_shift(mcs, average))).max(4) } else { data + overhead }
}

/// The time for the data of an average packet, in units of 1/1024 us.
fn average_duration(mcs: Mcs) -> u64 {
    let symbols = (AVERAGE_BITS << 10).div_ceil(mcs.bits_per_symbol());
    symbols * mcs.symbol_nanos() / 1_000
}

/// The binary logarithm of the number of frames that share the overhead.
fn ampdu_shift(mcs: Mcs, average: u64) -> u32 {
    const SLOWER_THAN: [(u64, u32); 4] = [(400, 1), (250, 2), (150, 3), (70, 4)];
    let slow = SLOWER_THAN.iter().find(|(micros, _)| average > micros << 10);
    match slow {
        Some((_, shift)) => *shift,
        None if mcs.format() != Format::He || average > 20 << 10 => 5,
        None => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::super::mcs::{GuardInterval, Width};
    use super::*;

    fn expected(format: Format, index: u8, width: Width, octets: u32, in_ampdu: bool) -> u32 {
        let mcs = Mcs::new(format, index, 1, width, GuardInterval::Ns800).unwrap();
        expected_air_time(mcs.into(), Preamble::Long, octets, in_ampdu)
    }

    // The sums are those of `net/mac80211/airtime.c` in Linux 6.12, done by hand: 8,388,608 k-bits in symbols of 260, 26,
    // 1053 and 980 bits, times 4 us or 13.6 us.
    #[test]
    fn packets_are_expected_to_take_what_linux_expects() {
        // 32264 ksymbols, 129056/1024 us for 1024 octets; 1552 octets: 191; 40 for the overhead.
        assert_eq!(expected(Format::Ht, 7, Width::Mhz20, 1_500, false), 191 + 40);
        assert_eq!(expected(Format::Ht, 7, Width::Mhz20, 1_500, true), 191 + (40 >> 4));
        // 322639, 1290556/1024: beyond 400 us.
        assert_eq!(expected(Format::Ht, 0, Width::Mhz20, 1_500, true), 1_910 + (40 >> 1));
        assert_eq!(expected(Format::Vht, 6, Width::Mhz80, 1_500, true), 47 + (40 >> 5));
        // Linux has 979 bits and the same microsecond.
        assert_eq!(expected(Format::He, 1, Width::Mhz80, 1_500, true), 172 + (40 >> 4));
        assert_eq!(expected(Format::He, 11, Width::Mhz80, 0, true), 4);
    }

    #[test]
    fn frames_of_old_have_preamble_and_sifs() {
        let expected = |rate| expected_air_time(rate, Preamble::Long, 1_500, true);
        assert_eq!(expected(Rate::CCK_11), 192 + 10 + 1_128);
        assert_eq!(expected(Rate::OFDM_54), 20 + 16 + 229);
    }
}
