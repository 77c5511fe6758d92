//! The physical layers: rates, air times, inter-frame spaces.
//!
//! Clauses are those of IEEE 802.11-2012: 16 (DSSS), 17 (HR/DSSS, 802.11b), 18 (OFDM, 802.11a), 19
//! (ERP, 802.11g), 9.3 (DCF).

use std::ops::Range;
use std::time::Duration;

use lasthop_packet::Bitrate;
use lasthop_packet::time::nanos;

use super::frame;

/// A physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// IEEE 802.11-1997, direct sequence at 2.4 GHz: 1 and 2 Mbit/s, long preambles only (clause
    /// 16).
    Dsss,
    /// IEEE 802.11b: 1, 2, 5.5 and 11 Mbit/s (clause 17).
    HrDsss,
    /// IEEE 802.11a: 6 to 54 Mbit/s (clause 18).
    Ofdm,
    /// IEEE 802.11g: the rates of b and of a at 2.4 GHz (clause 19).
    Erp,
}

/// The PLCP preamble and header before DSSS and CCK frames (17.2.2); OFDM has one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// 144 us and a header of 48 us.
    Long,
    /// 72 us and a header of 24 us. Frames at 1 Mbit/s have the long one nevertheless.
    Short,
}

/// What a standard has. Times are in microseconds.
struct StandardRow {
    /// Places in the table of rates.
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
    /// Its rates, slowest first in each family.
    pub fn rates(self) -> impl DoubleEndedIterator<Item = Rate> {
        STANDARDS[self as usize].rates.clone().map(Rate)
    }
}

/// A data rate: a place in the table of rates. Its name says the modulation's family and Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u8);

struct RateRow {
    kbps: u64,
    is_ofdm: bool,
    is_mandatory: bool,
    /// Whether it is a basic rate, by default.
    is_basic: bool,
}

/// Slowest first in each family.
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
    /// How many there are.
    pub const COUNT: usize = RATES.len();

    /// All of them, slowest first in each family.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// Its place among all of them.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Kilobits a second.
    pub const fn kbps(self) -> u64 {
        RATES[self.index()].kbps
    }

    /// Whether it is one of OFDM's.
    pub const fn is_ofdm(self) -> bool {
        RATES[self.index()].is_ofdm
    }

    /// Whether a receiver of this physical layer has it.
    pub fn is_of(self, standard: Standard) -> bool {
        STANDARDS[standard as usize].rates.contains(&self.0)
    }
}

/// A physical layer's parameters. [`PhyConfig::new`] gives the standard's defaults; whoever changes
/// one changes it for all stations.
#[derive(Clone, Debug, PartialEq)]
pub struct PhyConfig {
    /// Which one.
    pub standard: Standard,
    /// The preamble of DSSS and CCK frames; long by default.
    pub preamble: Preamble,
    /// The rate of data frames of stations that name none; the highest by default.
    pub rate: Rate,
    /// The rate at which the bits of all frames go, whatever their rates are called: for a channel
    /// whose bandwidth is none of the standard's rates. Of a DSSS or CCK frame the preamble and the
    /// PLCP header stay at 1 Mbit/s. `None`, the default, for the standard's.
    pub bandwidth: Option<Bitrate>,
    /// `BSSBasicRateSet`: rates of control responses and broadcasts (9.7). Default: 1 and 2 Mbit/s;
    /// for a 6, 12 and 24; for g all of these.
    pub basic_rates: Vec<Rate>,
    /// `aSlotTime`: 20 us; 9 us for a, and for g without 802.11b stations near by.
    pub slot: Duration,
    /// How long before a station transmits another one must have begun for it to sense that: what a
    /// slot has for `aCCATime`, `aRxTxTurnaroundTime` and `aMACProcessingDelay` (9.3.7). At most a
    /// slot; `None` for the slot, of which the standard leaves propagation only. Zero, for carrier
    /// sense that works at once, is a simulator's custom.
    pub carrier_sense_delay: Option<Duration>,
    /// `aSIFSTime`: 10 us; 16 us for a.
    pub sifs: Duration,
    /// `aCWmin`: 31; 15 for a and g. Back-offs are drawn from 0 to CW slots.
    pub cw_min: u32,
    /// `aCWmax`: 1023.
    pub cw_max: u32,
    /// `aPHY-RX-START-Delay`, for `ACKTimeout` and `CTSTimeout`: the duration of preamble and PLCP
    /// header, 192 or 96 us; 20 us for OFDM (as in the edition of 2016; that of 2012 has 25 us for
    /// a and 24 us for g).
    pub rx_start_delay: Duration,
    /// The rate of the ACK whose duration is in EIFS: the lowest mandatory rate (9.3.2.3.7), 1
    /// Mbit/s; 6 Mbit/s for a. It is 1 Mbit/s for g, too; a pure g network that wants shorter
    /// spaces after collisions sets 6 Mbit/s.
    pub eifs_rate: Rate,
    /// Signal extension after OFDM frames at 2.4 GHz (19.3.2.4): 6 us for g, otherwise none.
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

    /// With the short preamble, and the time-outs that follow from it.
    #[must_use]
    pub fn with_short_preamble(mut self) -> Self {
        self.preamble = Preamble::Short;
        if self.standard == Standard::HrDsss {
            self.rx_start_delay = Duration::from_micros(96);
        }
        self
    }

    /// `DIFS = aSIFSTime + 2 x aSlotTime` (9.3.7).
    pub fn difs(&self) -> Duration {
        self.sifs + 2 * self.slot
    }

    /// `EIFS = aSIFSTime + ACKTxTime + DIFS` (9.3.7).
    pub fn eifs(&self) -> Duration {
        self.sifs + self.air_time(self.eifs_rate, frame::ACK_OCTETS) + self.difs()
    }

    /// `ACKTimeout` and `CTSTimeout = aSIFSTime + aSlotTime + aPHY-RX-START-Delay` (9.3.2.8), from
    /// the end of a frame.
    pub fn response_timeout(&self) -> Duration {
        self.sifs + self.slot + self.rx_start_delay
    }

    /// `TXTIME`: how long a frame of so many octets (MAC header to FCS) takes, preamble, PLCP
    /// header and signal extension included.
    ///
    /// DSSS and CCK: whole microseconds, as the PLCP's LENGTH field has them (17.2.3.5). OFDM:
    /// symbols of 4 us, which carry 16 bits of SERVICE and 6 tail bits besides (18.4.3).
    pub fn air_time(&self, rate: Rate, octets: u32) -> Duration {
        Duration::from_nanos(self.air_nanos(rate, octets))
    }

    pub(crate) fn air_nanos(&self, rate: Rate, octets: u32) -> u64 {
        let bits = u64::from(octets) * 8;
        let bps = self.bandwidth.map_or(rate.kbps() * 1000, Bitrate::as_bps);
        if rate.is_ofdm() {
            // A symbol has the bits of 4 us.
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

    /// The rate of the ACK or CTS that answers a frame: the highest basic rate of the same family
    /// that is not above the frame's, or the highest mandatory one if there is none (9.7.6.5.2).
    pub fn response_rate(&self, rate: Rate) -> Rate {
        let answers = |basic: &Rate| basic.is_ofdm() == rate.is_ofdm() && *basic <= rate;
        let mandatory = || self.standard.rates().filter(|rate| RATES[rate.index()].is_mandatory);
        let highest = self.basic_rates.iter().copied().filter(answers).max();
        highest.or_else(|| mandatory().filter(answers).max()).unwrap_or(rate)
    }

    /// The rate of RTS frames before data at `rate`: as for responses, so that whoever decodes the
    /// data decodes it, too. Before OFDM frames that need protection it is the highest basic rate
    /// that stations of 802.11b have (9.23).
    pub fn initial_control_rate(&self, rate: Rate, protected: bool) -> Rate {
        if protected { self.response_rate(Rate::CCK_11) } else { self.response_rate(rate) }
    }

    /// The rate of broadcasts: the lowest basic one.
    pub fn broadcast_rate(&self) -> Rate {
        let slowest = self.basic_rates.iter().copied().min_by_key(|rate| rate.kbps());
        slowest.unwrap_or(self.rate)
    }
}
