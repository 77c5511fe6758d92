//! Generations of the physical layer, and the bands in which they transmit.

use std::ops::Range;

use super::mcs::{Format, Mcs};
use super::rate::Rate;

/// A physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standard {
    /// IEEE 802.11-1997, direct sequence at 2.4 GHz: 1 and 2 Mbit/s, long preambles only (clause
    /// 15).
    Dsss,
    /// IEEE 802.11b: 1, 2, 5.5 and 11 Mbit/s (clause 16).
    HrDsss,
    /// IEEE 802.11a: 6 to 54 Mbit/s (clause 17).
    Ofdm,
    /// IEEE 802.11g: the rates of 802.11b and 802.11a at 2.4 GHz (clause 18).
    Erp,
    /// IEEE 802.11n, at 2.4 or 5 GHz (clause 19).
    Ht,
    /// IEEE 802.11ac, at 5 GHz (clause 21).
    Vht,
    /// IEEE 802.11ax, at 2.4, 5 or 6 GHz (clause 27 of IEEE 802.11ax-2021).
    He,
}

/// A frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2_4,
    /// 5 GHz.
    Ghz5,
    /// 6 GHz.
    Ghz6,
}

impl Standard {
    /// All of them, oldest first.
    pub const ALL: [Self; 7] =
        [Self::Dsss, Self::HrDsss, Self::Ofdm, Self::Erp, Self::Ht, Self::Vht, Self::He];

    /// Its band; the higher one of 802.11n and the middle one of 802.11ax, which have several.
    pub const fn usual_band(self) -> Band {
        match self {
            Self::Dsss | Self::HrDsss | Self::Erp => Band::Ghz2_4,
            Self::Ofdm | Self::Ht | Self::Vht | Self::He => Band::Ghz5,
        }
    }

    /// Whether it transmits in a band.
    pub const fn is_in(self, band: Band) -> bool {
        match self {
            Self::Dsss | Self::HrDsss | Self::Erp => matches!(band, Band::Ghz2_4),
            Self::Ofdm | Self::Vht => matches!(band, Band::Ghz5),
            Self::Ht => matches!(band, Band::Ghz2_4 | Band::Ghz5),
            Self::He => true,
        }
    }

    /// Its own format; `None` before 802.11n.
    pub const fn format(self) -> Option<Format> {
        match self {
            Self::Dsss | Self::HrDsss | Self::Ofdm | Self::Erp => None,
            Self::Ht => Some(Format::Ht),
            Self::Vht => Some(Format::Vht),
            Self::He => Some(Format::He),
        }
    }

    /// Whether it has PPDUs of a format in a band. Each generation has those before it; VHT is not at 2.4 GHz, and neither
    /// HT nor VHT is at 6 GHz.
    pub fn has_format(self, format: Format, band: Band) -> bool {
        let is_in_band = match format {
            Format::Ht => band != Band::Ghz6,
            Format::Vht => band == Band::Ghz5,
            Format::He => true,
        };
        is_in_band && self.format().is_some_and(|own| format <= own)
    }

    /// Its rates of DSSS, CCK and OFDM: DSSS and CCK before OFDM, slowest first in each family.
    pub fn non_ht_rates(self, band: Band) -> impl DoubleEndedIterator<Item = Rate> {
        Rate::all_non_ht().skip(self.non_ht(band).start).take(self.non_ht(band).len())
    }

    /// Whether a rate is one of its rates in a band.
    pub fn has_rate(self, rate: Rate, band: Band) -> bool {
        let has_mcs = |mcs: Mcs| self.has_format(mcs.format(), band);
        rate.non_ht_index()
            .map_or_else(|| rate.mcs().is_some_and(has_mcs), |it| self.non_ht(band).contains(&it))
    }

    /// The positions of its rates in [`Rate::all_non_ht`].
    const fn non_ht(self, band: Band) -> Range<usize> {
        match (self, band) {
            (Self::Dsss, _) => 0..2,
            (Self::HrDsss, _) => 0..4,
            (Self::Erp, _) | (Self::Ht | Self::He, Band::Ghz2_4) => 0..12,
            (Self::Ofdm | Self::Ht | Self::Vht | Self::He, _) => 4..12,
        }
    }
}
