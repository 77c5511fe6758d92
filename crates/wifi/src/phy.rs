//! The physical layers: rates, durations of PPDUs, interframe spaces.
//!
//! Clauses are those of IEEE 802.11-2020: 15 (DSSS), 16 (HR/DSSS, 802.11b), 17 (OFDM, 802.11a), 18
//! (ERP, 802.11g), 19 (HT, 802.11n), 21 (VHT, 802.11ac), 10.3 (DCF); and 27 of IEEE 802.11ax-2021 (HE).

mod expected;
mod mcs;
mod rate;
mod standard;

use std::time::Duration;

use lasthop_packet::Bitrate;
use lasthop_packet::time::nanos;

use super::frame;
pub(crate) use expected::expected_air_time;
pub use mcs::{Format, GuardInterval, Mcs, Width};
pub use rate::Rate;
pub use standard::{Band, Standard};

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

/// How the durations of PPDUs of HT, VHT and HE are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PpduDurations {
    /// `TXTIME` of the standard (19.4.3, 21.4.3, 27.4.3 of 802.11ax).
    #[default]
    Standard,
    /// As ns-3 has them, for comparisons: the data of HT and VHT PPDUs with the short guard interval is not
    /// rounded up to 4 us; VHT PPDUs have no VHT-SIG-B field; HE long training fields last 8 us with each guard
    /// interval; and the data of HE PPDUs has tail bits.
    Ns3,
}

/// The parameters of a physical layer, the same for all stations of a cell. [`PhyConfig::new`]
/// gives the standard's defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct PhyConfig {
    /// The physical layer.
    pub standard: Standard,
    /// The band. Default 2.4 GHz, or 5 GHz for 802.11a, n, ac and ax.
    pub band: Band,
    /// The width of the channel, which no PPDU exceeds. Default 20 MHz, or 80 MHz for 802.11ac and ax.
    pub width: Width,
    /// How the durations of PPDUs of HT, VHT and HE are computed.
    pub durations: PpduDurations,
    /// The preamble of DSSS and CCK frames. Default long.
    pub preamble: Preamble,
    /// The rate of data frames of stations that have no rate of their own. Default: the highest.
    pub rate: Rate,
    /// The rate at which the bits of all frames are transmitted, in place of the frames' own rates,
    /// for a channel whose bandwidth is not a rate of the standard. The preamble and the PLCP
    /// header of DSSS and CCK frames keep their duration. PPDUs of HT, VHT and HE keep their rates. `None`, the
    /// default: the frames' own rates.
    pub bandwidth: Option<Bitrate>,
    /// `BSSBasicRateSet`: the rates of control responses (10.6.6.5.2) and broadcasts. Default: 1
    /// and 2 Mbit/s; 6, 12 and 24 Mbit/s at 5 and 6 GHz; all five for 802.11g, n and ax at 2.4 GHz.
    pub basic_rates: Vec<Rate>,
    /// `aSlotTime`, above zero and at most 1 s. Default: 20 us; 9 us from 802.11a and g on (at 2.4 GHz the short
    /// slot of a network without stations of 802.11b).
    pub slot: Duration,
    /// The time that carrier sense takes: a station that transmits has sensed only transmissions
    /// that began at least this long before. In the standard, `aCCATime`, `aRxTxTurnaroundTime` and
    /// `aMACProcessingDelay` make up a slot, apart from the propagation time (10.3.7). At most a
    /// slot. `None`, the default: the whole slot. ns-2 has zero: carrier sense without delay.
    pub carrier_sense_delay: Option<Duration>,
    /// `aSIFSTime`, at most 1 s. Default: 10 us; 16 us at 5 and 6 GHz.
    pub sifs: Duration,
    /// `aCWmin`, in slots; at most `cw_max`. Default: 31; 15 from 802.11a and g on. Backoffs are
    /// drawn from 0 to CW slots.
    pub cw_min: u32,
    /// `aCWmax`, in slots; at most 65,535. Default 1023.
    pub cw_max: u32,
    /// `aRxPHYStartDelay`, a part of `ACKTimeout` and `CTSTimeout`: the duration of preamble and
    /// PLCP header; at most 1 s. Default: 192 us, or 96 us for 802.11b with short preambles; 20 us
    /// from 802.11a and g on, where responses are non-HT frames (tables 17-21 and 18-5; the edition of 2012 has 25
    /// and 24 us).
    pub rx_start_delay: Duration,
    /// The rate of the ACK whose duration is a part of EIFS: the lowest mandatory rate
    /// (10.3.2.3.7). Default: 1 Mbit/s at 2.4 GHz, 6 Mbit/s at 5 and 6 GHz. At 6 Mbit/s, a
    /// network of 802.11g alone has shorter spaces after collisions.
    pub eifs_rate: Rate,
    /// Signal extension after OFDM frames at 2.4 GHz (10.3.8). Default: 6 us for 802.11g, n and ax at 2.4 GHz,
    /// otherwise zero.
    pub signal_extension: Duration,
}

impl PhyConfig {
    /// The defaults of a standard in its usual band.
    pub fn new(standard: Standard) -> Self {
        Self::in_band(standard, standard.usual_band())
    }

    /// The defaults of a standard in a band.
    pub fn in_band(standard: Standard, band: Band) -> Self {
        let us = Duration::from_micros;
        let is_dsss = matches!(standard, Standard::Dsss | Standard::HrDsss);
        let is_ofdm_at_2_4_ghz = !is_dsss && band == Band::Ghz2_4;
        let width = match standard {
            Standard::Vht | Standard::He if band != Band::Ghz2_4 => Width::Mhz80,
            _ => Width::Mhz20,
        };
        let rates = || standard.non_ht_rates(band);
        let fastest = |format| Mcs::fastest(format, 1, width, GuardInterval::Ns800).map(Rate::from);
        let fastest = standard.format().and_then(fastest).or_else(|| rates().next_back());
        Self {
            standard,
            band,
            width,
            durations: PpduDurations::Standard,
            preamble: Preamble::Long,
            rate: fastest.unwrap_or(Rate::OFDM_6),
            bandwidth: None,
            basic_rates: rates().filter(|rate| rate.is_basic()).collect(),
            slot: us(if is_dsss { 20 } else { 9 }),
            carrier_sense_delay: None,
            sifs: us(if band == Band::Ghz2_4 { 10 } else { 16 }),
            cw_min: if is_dsss { 31 } else { 15 },
            cw_max: 1023,
            rx_start_delay: us(if is_dsss { 192 } else { 20 }),
            eifs_rate: rates().next().unwrap_or(Rate::OFDM_6),
            signal_extension: us(if is_ofdm_at_2_4_ghz { 6 } else { 0 }),
        }
    }

    /// Whether a rate is one of its rates.
    pub fn has_rate(&self, rate: Rate) -> bool {
        self.standard.has_rate(rate, self.band) && rate.mcs().is_none_or(|mcs| mcs.width() <= self.width)
    }

    /// Its rates of DSSS, CCK and OFDM: DSSS and CCK before OFDM, slowest first in each family.
    pub fn non_ht_rates(&self) -> impl DoubleEndedIterator<Item = Rate> {
        self.standard.non_ht_rates(self.band)
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
        self.eifs_with(self.difs())
    }

    /// EIFS where this space follows decoded frames: AIFS takes the place of DIFS at `QoS` stations (10.3.7).
    pub(crate) fn eifs_with(&self, usual: Duration) -> Duration {
        self.sifs + self.air_time(self.eifs_rate, frame::ACK_OCTETS) + usual
    }

    /// `ACKTimeout` and `CTSTimeout`, from the end of the frame that requires a response:
    /// `aSIFSTime + aSlotTime + aRxPHYStartDelay` (10.3.2.11 and 10.3.2.9).
    pub fn response_timeout(&self) -> Duration {
        self.sifs + self.slot + self.rx_start_delay
    }

    /// `TXTIME`: the duration of a PPDU whose PSDU has this number of octets, with preamble, PLCP header and
    /// signal extension.
    ///
    /// DSSS and CCK frames last whole microseconds, the unit of the PLCP's LENGTH field (16.2.3).
    /// OFDM frames consist of symbols of 4 us, which also carry 16 SERVICE bits and 6 tail bits
    /// (17.4.3); for PPDUs of HT, VHT and HE see [`Mcs`].
    pub fn air_time(&self, rate: Rate, octets: u32) -> Duration {
        Duration::from_nanos(self.air_nanos(rate, octets))
    }

    pub(crate) fn air_nanos(&self, rate: Rate, octets: u32) -> u64 {
        let bits = u64::from(octets) * 8;
        if let Some(mcs) = rate.mcs() {
            return self.durations.of_ppdu(mcs, bits) + nanos(self.signal_extension);
        }
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

    /// The largest PSDU whose PPDU lasts no longer than this, in octets.
    pub(crate) fn most_octets(&self, mcs: Mcs, duration: Duration) -> u32 {
        let bits =
            self.durations.most_bits(mcs, nanos(duration).saturating_sub(nanos(self.signal_extension)));
        u32::try_from(bits / 8).unwrap_or(u32::MAX)
    }

    /// The octets of a PSDU with one MPDU. In VHT and HE each PSDU is an A-MPDU, so the MPDU has a delimiter (10.12.6).
    pub(crate) fn psdu_octets(rate: Rate, mpdu: u32) -> u32 {
        let is_aggregate = rate.mcs().is_some_and(|mcs| mcs.format() != Format::Ht);
        mpdu + if is_aggregate { frame::DELIMITER_OCTETS } else { 0 }
    }

    /// The rate of the ACK or CTS that answers a frame at `rate`: the highest basic rate of the
    /// same family that is not above it, or the highest such mandatory rate if there is no basic
    /// one (10.6.6.5.2). A frame of HT, VHT or HE counts as one at its non-HT reference rate (10.6.11).
    pub fn response_rate(&self, rate: Rate) -> Rate {
        let rate = rate.reference();
        let answers = |basic: &Rate| basic.is_ofdm() == rate.is_ofdm() && *basic <= rate;
        let mandatory = || self.non_ht_rates().filter(|rate| rate.is_mandatory());
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

impl PpduDurations {
    /// The duration of a PPDU for one user with this number of bits in its PSDU, in nanoseconds.
    fn of_ppdu(self, mcs: Mcs, bits: u64) -> u64 {
        let symbols = (16 + bits + self.tail_bits(mcs)).div_ceil(mcs.bits_per_symbol());
        let data = symbols * mcs.symbol_nanos();
        self.preamble(mcs) + if self.is_rounded(mcs) { data.next_multiple_of(4_000) } else { data }
    }

    /// The bits of the largest PSDU whose PPDU lasts no longer than this, in nanoseconds.
    fn most_bits(self, mcs: Mcs, duration: u64) -> u64 {
        let data = duration.saturating_sub(self.preamble(mcs));
        let data = if self.is_rounded(mcs) { data - data % 4_000 } else { data };
        let bits = data / mcs.symbol_nanos() * mcs.bits_per_symbol();
        bits.saturating_sub(16 + self.tail_bits(mcs))
    }

    /// Whether the data of a PPDU lasts a multiple of 4 us.
    fn is_rounded(self, mcs: Mcs) -> bool {
        //= IEEE 802.11-2020, 19.4.3, 21.4.3: with the short guard interval, the data lasts whole symbols of 4 us.
        self == Self::Standard && mcs.format() != Format::He
    }

    fn tail_bits(self, mcs: Mcs) -> u64 {
        match (self, mcs.format()) {
            (Self::Ns3, Format::He) => 6,
            _ => mcs.tail_bits(),
        }
    }

    /// The duration of all that precedes the data, in nanoseconds.
    const fn preamble(self, mcs: Mcs) -> u64 {
        // L-STF, L-LTF, L-SIG.
        20_000 + self.fields(mcs)
    }

    /// The duration of the fields between the L-SIG and the data, in nanoseconds.
    const fn fields(self, mcs: Mcs) -> u64 {
        let (fields, training) = match mcs.format() {
            // HT-SIG, HT-STF.
            Format::Ht => (8_000 + 4_000, 4_000),
            // VHT-SIG-A, VHT-STF, VHT-SIG-B.
            Format::Vht => (8_000 + 4_000 + if matches!(self, Self::Standard) { 4_000 } else { 0 }, 4_000),
            // RL-SIG, HE-SIG-A, HE-STF.
            Format::He => (4_000 + 8_000 + 4_000, self.he_training(mcs.guard_interval())),
        };
        fields + mcs.training_fields() * training
    }

    /// The duration of an HE-LTF: the long one (4x) with the longest guard interval, otherwise half of that (2x), and the
    /// guard interval (27.3.11.10 of IEEE 802.11ax-2021).
    const fn he_training(self, guard_interval: GuardInterval) -> u64 {
        match (self, guard_interval) {
            (Self::Ns3, _) => 8_000,
            (Self::Standard, GuardInterval::Ns3200) => 12_800 + guard_interval.nanos(),
            (Self::Standard, _) => 6_400 + guard_interval.nanos(),
        }
    }
}
