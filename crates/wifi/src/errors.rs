//! Frames that are lost without a collision.
//!
//! A loss is drawn for the addressee of a frame only: bystanders decode its Duration field in any case.
//! Each direction of a link has a stream of random numbers of its own. Other causes of loss, such as
//! fading, are an [`ErrorModel`] that the owner of the [`Wlan`](crate::Wlan) adds.

use std::collections::BTreeMap;
use std::fmt::Debug;

use lasthop_packet::{Instant, Probability, Rng};

use super::phy::Rate;
use crate::frame::StationId;

/// A frame on its way to an addressee that no other frame has disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndisturbedFrame {
    /// Its transmitter and the addressee.
    pub link: (StationId, StationId),
    /// The key of the packet in it ([`crate::MacFrame::key`]); `None` for a frame of the MAC's own.
    pub key: Option<u32>,
    /// Whether it is a control frame.
    pub is_control: bool,
    /// Its rate.
    pub rate: Rate,
    /// Its length: MAC header, body and FCS.
    pub octets: u32,
    /// The time of its first bit.
    pub start: Instant,
    /// The time of its last bit.
    pub end: Instant,
}

/// Loses frames that nothing has disturbed.
pub trait ErrorModel: Debug {
    /// Whether it never loses a frame.
    fn is_none(&self) -> bool;

    /// Whether this frame is lost. The function is called once for each undisturbed frame and addressee
    /// that listens to it, in the order of the frames of a link. Their times may be ahead of the clock by
    /// up to the length of an exchange.
    fn loses(&mut self, frame: &UndisturbedFrame) -> bool;
}

/// Loses nothing.
impl ErrorModel for () {
    fn is_none(&self) -> bool {
        true
    }

    fn loses(&mut self, _: &UndisturbedFrame) -> bool {
        false
    }
}

/// Errors of one direction of a link. The parts are independent of each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorConfig {
    /// Packet error rate: the probability that a frame is lost, whatever its length.
    pub packet: Probability,
    /// Bit error rates: longer frames are lost more often. `None` for no bit errors.
    pub bit: Option<BitErrorRates>,
    /// Whether control frames (RTS, CTS, ACK, PS-Poll) are lost, too.
    pub control: bool,
}

/// Bit error rates, each from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BitErrorRates {
    /// Those of these rates.
    pub by_rate: BTreeMap<Rate, f64>,
    /// That of all others.
    pub others: f64,
}

impl BitErrorRates {
    fn of(&self, rate: Rate) -> f64 {
        self.by_rate.get(&rate).copied().unwrap_or(self.others)
    }

    /// Whether each of them is a probability.
    pub(crate) fn are_valid(&self) -> bool {
        self.by_rate.values().chain([&self.others]).all(|rate| (0.0..=1.0).contains(rate))
    }
}

impl ErrorConfig {
    /// No errors.
    pub fn none() -> Self {
        Self::default()
    }

    /// This packet error rate, and no bit errors.
    pub fn packets(rate: Probability, control: bool) -> Self {
        Self { packet: rate, control, ..Self::default() }
    }

    fn is_none(&self) -> bool {
        self.packet.is_zero() && self.bit.is_none()
    }
}

/// The errors of all directions of links.
#[derive(Debug)]
pub(crate) struct Errors {
    seed: u64,
    default: ErrorConfig,
    /// By transmitter and addressee; those that are not configured are added at their first frame.
    directions: BTreeMap<(StationId, StationId), Direction>,
    /// Whether no direction loses frames.
    is_none: bool,
}

#[derive(Debug)]
struct Direction {
    config: ErrorConfig,
    rng: Rng,
    /// The length and the rate of the last frame, and the probability that one of its bits was wrong.
    last: (u32, Rate, Probability),
}

impl Errors {
    pub(crate) fn new(seed: u64, default: ErrorConfig) -> Self {
        let is_none = default.is_none();
        Self { seed, default, directions: BTreeMap::new(), is_none }
    }

    pub(crate) fn configure(&mut self, from: StationId, to: StationId, config: ErrorConfig) {
        self.is_none &= config.is_none();
        self.directions.insert((from, to), Direction::new(self.seed, (from, to), config));
    }
}

impl Direction {
    fn new(seed: u64, (from, to): (StationId, StationId), config: ErrorConfig) -> Self {
        let rng = Rng::named(seed, &format!("radio {} {} errors", from.index(), to.index()));
        Self { config, rng, last: (0, Rate::DSSS_1, Probability::ZERO) }
    }
}

impl ErrorModel for Errors {
    #[inline]
    fn is_none(&self) -> bool {
        self.is_none
    }

    fn loses(&mut self, frame: &UndisturbedFrame) -> bool {
        let UndisturbedFrame { link, is_control, rate, octets, .. } = *frame;
        let new = || Direction::new(self.seed, link, self.default.clone());
        let direction = self.directions.entry(link).or_insert_with(new);
        if is_control && !direction.config.control {
            return false;
        }
        let mut lost = direction.rng.happens(direction.config.packet);
        if let Some(rates) = &direction.config.bit {
            if direction.last.0 != octets || direction.last.1 != rate {
                direction.last = (octets, rate, frame_error_rate(rates.of(rate), octets));
            }
            lost |= direction.rng.happens(direction.last.2);
        }
        lost
    }
}

/// The probability that one of a frame's bits is wrong.
fn frame_error_rate(bit_error_rate: f64, octets: u32) -> Probability {
    let rate = bit_error_rate.clamp(0.0, 1.0);
    if rate >= 1.0 {
        return Probability::ONE;
    }
    let whole = f64::from(octets) * 8.0 * libm::log1p(-rate);
    Probability::new(-libm::expm1(whole)).unwrap_or(Probability::ONE)
}
