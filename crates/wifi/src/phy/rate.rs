//! Rates: those of DSSS, CCK and OFDM by their number, those of HT, VHT and HE by their modulation and
//! coding scheme.

use super::mcs::Mcs;

/// A data rate. The constants are named after the modulation and the rate in Mbit/s; others are made of an
/// [`Mcs`]. DSSS and CCK rates compare as lower than OFDM rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(Repr);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Repr {
    /// An index in [`NON_HT`].
    NonHt(u8),
    Mcs(Mcs),
}

struct Row {
    kbps: u64,
    is_ofdm: bool,
    is_mandatory: bool,
    /// Whether it is a basic rate by default.
    is_basic: bool,
}

/// DSSS and CCK before OFDM, slowest first in each family.
const NON_HT: [Row; 12] = [
    Row { kbps: 1_000, is_ofdm: false, is_mandatory: true, is_basic: true },
    Row { kbps: 2_000, is_ofdm: false, is_mandatory: true, is_basic: true },
    Row { kbps: 5_500, is_ofdm: false, is_mandatory: true, is_basic: false },
    Row { kbps: 11_000, is_ofdm: false, is_mandatory: true, is_basic: false },
    Row { kbps: 6_000, is_ofdm: true, is_mandatory: true, is_basic: true },
    Row { kbps: 9_000, is_ofdm: true, is_mandatory: false, is_basic: false },
    Row { kbps: 12_000, is_ofdm: true, is_mandatory: true, is_basic: true },
    Row { kbps: 18_000, is_ofdm: true, is_mandatory: false, is_basic: false },
    Row { kbps: 24_000, is_ofdm: true, is_mandatory: true, is_basic: true },
    Row { kbps: 36_000, is_ofdm: true, is_mandatory: false, is_basic: false },
    Row { kbps: 48_000, is_ofdm: true, is_mandatory: false, is_basic: false },
    Row { kbps: 54_000, is_ofdm: true, is_mandatory: false, is_basic: false },
];

#[expect(missing_docs, reason = "the names say it")]
impl Rate {
    pub const DSSS_1: Self = Self::non_ht(0);
    pub const DSSS_2: Self = Self::non_ht(1);
    pub const CCK_5_5: Self = Self::non_ht(2);
    pub const CCK_11: Self = Self::non_ht(3);
    pub const OFDM_6: Self = Self::non_ht(4);
    pub const OFDM_9: Self = Self::non_ht(5);
    pub const OFDM_12: Self = Self::non_ht(6);
    pub const OFDM_18: Self = Self::non_ht(7);
    pub const OFDM_24: Self = Self::non_ht(8);
    pub const OFDM_36: Self = Self::non_ht(9);
    pub const OFDM_48: Self = Self::non_ht(10);
    pub const OFDM_54: Self = Self::non_ht(11);
}

impl Rate {
    const fn non_ht(index: u8) -> Self {
        Self(Repr::NonHt(index))
    }

    /// The rates of DSSS, CCK and OFDM: DSSS and CCK before OFDM, slowest first in each family.
    pub fn all_non_ht() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..NON_HT.len()).map(|index| Self::non_ht(index as u8))
    }

    /// The position in [`Self::all_non_ht`], from 0; `None` for a rate of HT, VHT or HE.
    pub const fn non_ht_index(self) -> Option<usize> {
        match self.0 {
            Repr::NonHt(index) => Some(index as usize),
            Repr::Mcs(_) => None,
        }
    }

    /// The modulation and coding scheme; `None` for a rate of DSSS, CCK or OFDM.
    pub const fn mcs(self) -> Option<Mcs> {
        match self.0 {
            Repr::NonHt(_) => None,
            Repr::Mcs(mcs) => Some(mcs),
        }
    }

    /// The rate in kbit/s, rounded down.
    pub const fn kbps(self) -> u64 {
        match self.0 {
            Repr::NonHt(index) => NON_HT[index as usize].kbps,
            Repr::Mcs(mcs) => mcs.kbps(),
        }
    }

    /// The non-HT reference rate, by which the rate of a response is chosen (table 10-10): the OFDM rate of the same
    /// modulation and code, or the next lower one. That of a rate of DSSS, CCK or OFDM is the rate itself.
    #[must_use]
    pub const fn reference(self) -> Self {
        let Repr::Mcs(mcs) = self.0 else { return self };
        match mcs.index() {
            0 => Self::OFDM_6,
            1 => Self::OFDM_12,
            2 => Self::OFDM_18,
            3 => Self::OFDM_24,
            4 => Self::OFDM_36,
            5 => Self::OFDM_48,
            _ => Self::OFDM_54,
        }
    }

    /// Whether the modulation is OFDM.
    pub const fn is_ofdm(self) -> bool {
        match self.0 {
            Repr::NonHt(index) => NON_HT[index as usize].is_ofdm,
            Repr::Mcs(_) => true,
        }
    }

    /// Whether all stations of its physical layer have it.
    pub(super) const fn is_mandatory(self) -> bool {
        matches!(self.0, Repr::NonHt(index) if NON_HT[index as usize].is_mandatory)
    }

    /// Whether it is a basic rate by default.
    pub(super) const fn is_basic(self) -> bool {
        matches!(self.0, Repr::NonHt(index) if NON_HT[index as usize].is_basic)
    }
}

impl From<Mcs> for Rate {
    fn from(mcs: Mcs) -> Self {
        Self(Repr::Mcs(mcs))
    }
}
