//! The physical layers: rates, air times, interframe spaces.
//!
//! Clauses are those of IEEE 802.11-2020: 15 (DSSS), 16 (HR/DSSS, 802.11b), 17 (OFDM, 802.11a), 18
//! (ERP, 802.11g), 10.3 (DCF).

use std::ops::Range;
use std::time::Duration;

use lasthop_packet::Bitrate;
use lasthop_packet::time::nanos;

use super::frame;

/// A physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// The PLCP preamble and header of DSSS and CCK frames (16.2.2). OFDM frames have a preamble of
/// their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// A preamble of 144 us and a header of 48 us.
    Long,
    /// A preamble of 72 us and a header of 24 us. Frames at 1 Mbit/s have the long ones
    /// nevertheless.
    Short,
}

/// The parameters of a physical layer. Times are in microseconds.
struct StandardRow {
    /// Indices in [`RATES`].
    rates: Range<u8>,
    slot: u64,
    sifs: u64,
    cw_min: u32,
    rx_start_delay: u64,
    signal_extension: u64,
}

/// In the order of [`Standard`].
const STANDARDS: [StandardRow; 4] = [
    StandardRow { rates: 0..2, slot: 20, sifs: 10, cw_min: 31, rx_start_delay: 192, signal_extension: 0 },
    StandardRow { rates: 0..4, slot: 20, sifs: 10, cw_min: 31, rx_start_delay: 192, signal_extension: 0 },
    StandardRow { rates: 4..12, slot: 9, sifs: 16, cw_min: 15, rx_start_delay: 20, signal_extension: 0 },
    StandardRow { rates: 0..12, slot: 9, sifs: 10, cw_min: 15, rx_start_delay: 20, signal_extension: 6 },
];

impl Standard {
    /// The rates of this physical layer: DSSS and CCK before OFDM, slowest first in each family.
    pub fn rates(self) -> impl DoubleEndedIterator<Item = Rate> {
        STANDARDS[self as usize].rates.clone().map(Rate)
    }
}

/// A data rate. The constants are named after the modulation and the rate in Mbit/s. DSSS and CCK
/// rates compare as lower than OFDM rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u8);

struct RateRow {
    kbps: u64,
    is_ofdm: bool,
    is_mandatory: bool,
    /// Whether it is a basic rate by default.
    is_basic: bool,
}

/// DSSS and CCK before OFDM, slowest first in each family.
const RATES: [RateRow; 12] = [
    RateRow { kbps: 1_000, is_ofdm: false, is_mandatory: true, is_basic: true },
    RateRow { kbps: 2_000, is_ofdm: false, is_mandatory: true, is_basic: true },
    RateRow { kbps: 5_500, is_ofdm: false, is_mandatory: true, is_basic: false },
    RateRow { kbps: 11_000, is_ofdm: false, is_mandatory: true, is_basic: false },
    RateRow { kbps: 6_000, is_ofdm: true, is_mandatory: true, is_basic: true },
    RateRow { kbps: 9_000, is_ofdm: true, is_mandatory: false, is_basic: false },
    RateRow { kbps: 12_000, is_ofdm: true, is_mandatory: true, is_basic: true },
    RateRow { kbps: 18_000, is_ofdm: true, is_mandatory: false, is_basic: false },
    RateRow { kbps: 24_000, is_ofdm: true, is_mandatory: true, is_basic: true },
    RateRow { kbps: 36_000, is_ofdm: true, is_mandatory: false, is_basic: false },
    RateRow { kbps: 48_000, is_ofdm: true, is_mandatory: false, is_basic: false },
    RateRow { kbps: 54_000, is_ofdm: true, is_mandatory: false, is_basic: false },
];

#[expect(missing_docs, reason = "the names say it")]
impl Rate {
    pub const DSSS_1: Self = Self(0);
    pub const DSSS_2: Self = Self(1);
    pub const CCK_5_5: Self = Self(2);
    pub const CCK_11: Self = Self(3);
    pub const OFDM_6: Self = Self(4);
    pub const OFDM_9: Self = Self(5);
    pub const OFDM_12: Self = Self(6);
    pub const OFDM_18: Self = Self(7);
    pub const OFDM_24: Self = Self(8);
    pub const OFDM_36: Self = Self(9);
    pub const OFDM_48: Self = Self(10);
    pub const OFDM_54: Self = Self(11);
}

impl Rate {
    /// The number of rates.
    pub const COUNT: usize = RATES.len();

    /// All rates: DSSS and CCK before OFDM, slowest first in each family.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// The index in the order of [`Self::all`], from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The rate in kbit/s.
    pub const fn kbps(self) -> u64 {
        RATES[self.index()].kbps
    }

    /// Whether the modulation is OFDM.
    pub const fn is_ofdm(self) -> bool {
        RATES[self.index()].is_ofdm
    }

    /// Whether it is a rate of this physical layer.
    pub fn is_of(self, standard: Standard) -> bool {
        STANDARDS[standard as usize].rates.contains(&self.0)
    }
}

/// The parameters of a physical layer, the same for all stations of a cell. [`PhyConfig::new`]
/// gives the standard's defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct PhyConfig {
    /// The physical layer.
    pub standard: Standard,
    /// The preamble of DSSS and CCK frames. Default long.
    pub preamble: Preamble,
    /// The rate of data frames of stations that have no rate of their own. Default: the highest.
    pub rate: Rate,
    /// The rate at which the bits of all frames are transmitted, in place of the frames' own rates,
    /// for a channel whose bandwidth is not a rate of the standard. The preamble and the PLCP
    /// header of DSSS and CCK frames keep their duration. `None`, the default: the frames' own
    /// rates.
    pub bandwidth: Option<Bitrate>,
    /// `BSSBasicRateSet`: the rates of control responses (10.6.6.5.2) and broadcasts. Default: 1
    /// and 2 Mbit/s; 6, 12 and 24 Mbit/s for 802.11a; all five for 802.11g.
    pub basic_rates: Vec<Rate>,
    /// `aSlotTime`, above zero and at most 1 s. Default: 20 us; 9 us for 802.11a, and for 802.11g
    /// (the short slot of a network without stations of 802.11b).
    pub slot: Duration,
    /// The time that carrier sense takes: a station that transmits has sensed only transmissions
    /// that began at least this long before. In the standard, `aCCATime`, `aRxTxTurnaroundTime` and
    /// `aMACProcessingDelay` make up a slot, apart from the propagation time (10.3.7). At most a
    /// slot. `None`, the default: the whole slot. ns-2 has zero: carrier sense without delay.
    pub carrier_sense_delay: Option<Duration>,
    /// `aSIFSTime`, at most 1 s. Default: 10 us; 16 us for 802.11a.
    pub sifs: Duration,
    /// `aCWmin`, in slots; at most `cw_max`. Default: 31; 15 for 802.11a and 802.11g. Backoffs are
    /// drawn from 0 to CW slots.
    pub cw_min: u32,
    /// `aCWmax`, in slots; at most 65,535. Default 1023.
    pub cw_max: u32,
    /// `aRxPHYStartDelay`, a part of `ACKTimeout` and `CTSTimeout`: the duration of preamble and
    /// PLCP header; at most 1 s. Default: 192 us, or 96 us for 802.11b with short preambles; 20 us
    /// for 802.11a and 802.11g (tables 17-21 and 18-5; the edition of 2012 has 25 and 24 us).
    pub rx_start_delay: Duration,
    /// The rate of the ACK whose duration is a part of EIFS: the lowest mandatory rate
    /// (10.3.2.3.7). Default: 1 Mbit/s, also for 802.11g; 6 Mbit/s for 802.11a. At 6 Mbit/s, a
    /// network of 802.11g alone has shorter spaces after collisions.
    pub eifs_rate: Rate,
    /// Signal extension after OFDM frames at 2.4 GHz (10.3.8). Default: 6 us for 802.11g, otherwise
    /// zero.
    pub signal_extension: Duration,
}

impl PhyConfig {
    /// The defaults of a standard.
    pub fn new(standard: Standard) -> Self {
        let row = &STANDARDS[standard as usize];
        let us = Duration::from_micros;
        Self {
            standard,
            preamble: Preamble::Long,
            rate: Rate(row.rates.end - 1),
            bandwidth: None,
            basic_rates: standard.rates().filter(|rate| RATES[rate.index()].is_basic).collect(),
            slot: us(row.slot),
            carrier_sense_delay: None,
            sifs: us(row.sifs),
            cw_min: row.cw_min,
            cw_max: 1023,
            rx_start_delay: us(row.rx_start_delay),
            eifs_rate: Rate(row.rates.start),
            signal_extension: us(row.signal_extension),
        }
    }

    /// Sets the short preamble, and the timeouts that follow from it.
    #[must_use]
    pub fn with_short_preamble(mut self) -> Self {
        self.preamble = Preamble::Short;
        if self.standard == Standard::HrDsss {
            self.rx_start_delay = Duration::from_micros(96);
        }
        self
    }

    /// `DIFS = aSIFSTime + 2 x aSlotTime` (10.3.7).
    pub fn difs(&self) -> Duration {
        self.sifs + 2 * self.slot
    }

    /// `EIFS = aSIFSTime + ACKTxTime + DIFS` (10.3.7).
    pub fn eifs(&self) -> Duration {
        self.sifs + self.air_time(self.eifs_rate, frame::ACK_OCTETS) + self.difs()
    }

    /// `ACKTimeout` and `CTSTimeout`, from the end of the frame that requires a response:
    /// `aSIFSTime + aSlotTime + aRxPHYStartDelay` (10.3.2.11 and 10.3.2.9).
    pub fn response_timeout(&self) -> Duration {
        self.sifs + self.slot + self.rx_start_delay
    }

    /// `TXTIME`: the duration of a frame of this number of octets, from MAC header to FCS, with
    /// preamble, PLCP header and signal extension.
    ///
    /// DSSS and CCK frames last whole microseconds, the unit of the PLCP's LENGTH field (16.2.3).
    /// OFDM frames consist of symbols of 4 us, which also carry 16 SERVICE bits and 6 tail bits
    /// (17.4.3).
    pub fn air_time(&self, rate: Rate, octets: u32) -> Duration {
        Duration::from_nanos(self.air_nanos(rate, octets))
    }

    pub(crate) fn air_nanos(&self, rate: Rate, octets: u32) -> u64 {
        let bits = u64::from(octets) * 8;
        let bps = self.bandwidth.map_or(rate.kbps() * 1000, Bitrate::as_bps);
        if rate.is_ofdm() {
            // A symbol carries the bits of 4 us.
            let symbols = ((16 + bits + 6) * 250_000).div_ceil(bps);
            let preamble = 20_000 + nanos(self.signal_extension);
            return symbols.saturating_mul(4_000).saturating_add(preamble);
        }
        let plcp = match self.preamble {
            Preamble::Short if rate != Rate::DSSS_1 => 96_000,
            _ => 192_000,
        };
        (bits * 1_000_000).div_ceil(bps).saturating_mul(1000).saturating_add(plcp)
    }

    /// The rate of the ACK or CTS that answers a frame at `rate`: the highest basic rate of the
    /// same family that is not above it, or the highest such mandatory rate if there is no basic
    /// one (10.6.6.5.2).
    pub fn response_rate(&self, rate: Rate) -> Rate {
        let answers = |basic: &Rate| basic.is_ofdm() == rate.is_ofdm() && *basic <= rate;
        let mandatory = || self.standard.rates().filter(|rate| RATES[rate.index()].is_mandatory);
        let highest = self.basic_rates.iter().copied().filter(answers).max();
        highest.or_else(|| mandatory().filter(answers).max()).unwrap_or(rate)
    }

    /// The rate of an RTS or CTS-to-self before data at `rate`: that of a response, so that each
    /// station that decodes the data decodes the control frame, too. With `protected`, for OFDM
    /// data in the presence of 802.11b, it is the highest basic rate that stations of 802.11b
    /// decode (IEEE 802.11, protection mechanisms).
    pub fn initial_control_rate(&self, rate: Rate, protected: bool) -> Rate {
        if protected { self.response_rate(Rate::CCK_11) } else { self.response_rate(rate) }
    }

    /// The lowest basic rate, that of broadcasts and by default of raw frames.
    pub fn broadcast_rate(&self) -> Rate {
        let slowest = self.basic_rates.iter().copied().min_by_key(|rate| rate.kbps());
        slowest.unwrap_or(self.rate)
    }
}
