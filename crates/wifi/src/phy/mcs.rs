//! Modulation and coding schemes of HT (clause 19, 802.11n), VHT (clause 21, 802.11ac) and HE (clause 27 of
//! IEEE 802.11ax-2021): the bits of a symbol, its duration, and the preamble of a PPDU for one user.

use std::time::Duration;

/// The generation of a PPDU (FORMAT in the standard's TXVECTOR).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// High throughput, IEEE 802.11n; in mixed format.
    Ht,
    /// Very high throughput, IEEE 802.11ac; for one user.
    Vht,
    /// High efficiency, IEEE 802.11ax; for one user.
    He,
}

/// The width of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz; not beyond that with HT.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz.
    Mhz160,
}

impl Width {
    /// All widths.
    pub const ALL: [Self; 4] = [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160];

    /// The width in MHz.
    pub const fn mhz(self) -> u32 {
        20 << self as u32
    }
}

/// The guard interval between the symbols of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuardInterval {
    /// The short one of HT and VHT.
    Ns400,
    /// The long one of HT and VHT, and the shortest of HE.
    Ns800,
    /// Of HE.
    Ns1600,
    /// The longest of HE.
    Ns3200,
}

impl GuardInterval {
    /// All guard intervals.
    pub const ALL: [Self; 4] = [Self::Ns400, Self::Ns800, Self::Ns1600, Self::Ns3200];

    /// Its duration in nanoseconds.
    pub const fn nanos(self) -> u64 {
        400 << self as u64
    }
}

/// A modulation and coding scheme, with the streams, the width and the guard interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mcs {
    format: Format,
    width: Width,
    streams: u8,
    index: u8,
    guard_interval: GuardInterval,
}

/// What an index stands for.
struct Row {
    /// Bits of a subcarrier in a symbol (`N_BPSCS`).
    bits: u64,
    /// The code rate: numerator and denominator.
    code: (u64, u64),
}

/// By the index of the standard's tables for one stream. HT has the first 8, VHT the first 10.
const ROWS: [Row; 12] = [
    Row { bits: 1, code: (1, 2) },
    Row { bits: 2, code: (1, 2) },
    Row { bits: 2, code: (3, 4) },
    Row { bits: 4, code: (1, 2) },
    Row { bits: 4, code: (3, 4) },
    Row { bits: 6, code: (2, 3) },
    Row { bits: 6, code: (3, 4) },
    Row { bits: 6, code: (5, 6) },
    Row { bits: 8, code: (3, 4) },
    Row { bits: 8, code: (5, 6) },
    Row { bits: 10, code: (3, 4) },
    Row { bits: 10, code: (5, 6) },
];

impl Format {
    /// The number of indices for one stream.
    pub const fn indices(self) -> u8 {
        match self {
            Self::Ht => 8,
            Self::Vht => 10,
            Self::He => 12,
        }
    }

    /// The largest number of spatial streams.
    pub const fn streams(self) -> u8 {
        match self {
            Self::Ht => 4,
            Self::Vht | Self::He => 8,
        }
    }

    /// Its largest width.
    pub const fn width(self) -> Width {
        match self {
            Self::Ht => Width::Mhz40,
            Self::Vht | Self::He => Width::Mhz160,
        }
    }

    /// Whether it has this guard interval.
    pub const fn has(self, guard_interval: GuardInterval) -> bool {
        match guard_interval {
            GuardInterval::Ns400 => !matches!(self, Self::He),
            GuardInterval::Ns800 => true,
            GuardInterval::Ns1600 | GuardInterval::Ns3200 => matches!(self, Self::He),
        }
    }

    /// The number of data subcarriers (`N_SD`; tables 19-6, 21-5 and 27-12).
    const fn subcarriers(self, width: Width) -> u64 {
        let by_width = match self {
            Self::Ht | Self::Vht => [52, 108, 234, 468],
            Self::He => [234, 468, 980, 1960],
        };
        by_width[width as usize]
    }
}

impl Mcs {
    /// The scheme with this index for one stream, 0 to 11, at most [`Format::indices`]; `None` if the standard has none
    /// with these parameters. HT's own index is that of the streams before, 8 for each, and this one.
    pub fn new(
        format: Format,
        index: u8,
        streams: u8,
        width: Width,
        guard_interval: GuardInterval,
    ) -> Option<Self> {
        let is_known = index < format.indices()
            && (1..=format.streams()).contains(&streams)
            && width <= format.width()
            && format.has(guard_interval);
        //= IEEE 802.11-2020, 21.5: schemes in whose symbols coded bits would not fill the encoders.
        let is_left_out = format == Format::Vht
            && match (width, index) {
                (Width::Mhz20, 9) => streams != 3 && streams != 6,
                (Width::Mhz80, 6) => streams == 3 || streams == 7,
                (Width::Mhz80, 9) => streams == 6,
                (Width::Mhz160, 9) => streams == 3,
                _ => false,
            };
        (is_known && !is_left_out).then_some(Self { format, width, streams, index, guard_interval })
    }

    /// The one with the highest index; `None` if the format does not have these parameters.
    pub fn fastest(format: Format, streams: u8, width: Width, guard_interval: GuardInterval) -> Option<Self> {
        let of_index = |index| Self::new(format, index, streams, width, guard_interval);
        (0..format.indices()).rev().find_map(of_index)
    }

    /// All schemes of a format.
    pub fn all(format: Format) -> impl Iterator<Item = Self> {
        let of_index = move |index| {
            (1..=format.streams()).flat_map(move |streams| {
                Width::ALL.into_iter().flat_map(move |width| {
                    let of = move |guard| Self::new(format, index, streams, width, guard);
                    GuardInterval::ALL.into_iter().filter_map(of)
                })
            })
        };
        (0..format.indices()).flat_map(of_index)
    }

    /// The format of its PPDUs.
    pub const fn format(self) -> Format {
        self.format
    }

    /// The index for one stream, from 0.
    pub const fn index(self) -> u8 {
        self.index
    }

    /// The number of spatial streams, from 1.
    pub const fn streams(self) -> u8 {
        self.streams
    }

    /// The width of its PPDUs.
    pub const fn width(self) -> Width {
        self.width
    }

    /// The guard interval of its data.
    pub const fn guard_interval(self) -> GuardInterval {
        self.guard_interval
    }

    /// The bits of data in a symbol (`N_DBPS`).
    pub const fn bits_per_symbol(self) -> u64 {
        let (numerator, denominator) = ROWS[self.index as usize].code;
        self.coded_bits() * numerator / denominator
    }

    /// The coded bits in a symbol (`N_CBPS`).
    const fn coded_bits(self) -> u64 {
        self.format.subcarriers(self.width) * self.streams as u64 * ROWS[self.index as usize].bits
    }

    /// The duration of a symbol of data with its guard interval.
    pub const fn symbol(self) -> Duration {
        Duration::from_nanos(self.symbol_nanos())
    }

    pub(super) const fn symbol_nanos(self) -> u64 {
        let without_guard = match self.format {
            Format::Ht | Format::Vht => 3_200,
            Format::He => 12_800,
        };
        without_guard + self.guard_interval.nanos()
    }

    /// The rate in kbit/s, rounded down.
    pub(super) const fn kbps(self) -> u64 {
        self.bits_per_symbol() * 1_000_000 / self.symbol_nanos()
    }

    /// The tail bits in the data of a PPDU: six for each binary convolutional encoder, of which HT and VHT need another
    /// one for each 300 or 600 Mbit/s (`N_ES`; 19.5, 21.5). HE has low-density parity-check codes, which need none; ns-3
    /// counts six.
    pub(super) fn tail_bits(self) -> u64 {
        //= IEEE 802.11-2020, 21.5: a short guard interval does not change N_ES. So it goes by the rate with a long one.
        let kbps = self.bits_per_symbol() * 250;
        let encoders = match self.format {
            Format::He => return 0,
            Format::Ht => kbps.div_ceil(300_000),
            Format::Vht => {
                let (_, denominator) = ROWS[self.index as usize].code;
                let fits = |encoders: &u64| {
                    self.coded_bits().is_multiple_of(*encoders)
                        && (self.coded_bits() / encoders).is_multiple_of(denominator)
                };
                let least = kbps.div_ceil(540_000);
                (least..=12).find(fits).unwrap_or(least)
            }
        };
        6 * encoders
    }

    /// The number of long training fields: one for each stream, rounded up to an even number beyond one (tables 19-13
    /// and 21-13).
    pub(super) const fn training_fields(self) -> u64 {
        match self.streams {
            1 => 1,
            streams => streams.next_multiple_of(2) as u64,
        }
    }
}
