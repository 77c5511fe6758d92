//! Frames that are lost without a collision.
//!
//! A frame's fate is drawn for its addressee only: bystanders hear its Duration field in any case.
//! Each direction of a link has a stream of random numbers of its own. What else may lose frames,
//! such as fading, is an [`ErrorModel`] of the owner of the [`Wlan`](crate::Wlan).

use std::collections::BTreeMap;
use std::fmt::Debug;

use lasthop_packet::{Instant, Probability, Rng};

use super::phy::Rate;
use crate::frame::StationId;

/// A frame on its way to one of its addressees, which nothing has disturbed.
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

    /// Whether this frame is lost. It is called once for each addressee and undisturbed frame that
    /// it listens to. The frames of a link come in the order of their times, which may be up to the
    /// length of an exchange ahead of the clock.
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

/// Errors of one direction of a link; its parts are independent of each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorConfig {
    /// Packet error rate: of each frame, whatever its length.
    pub packet: Probability,
    /// Bit error rate by rate, in the order of [`Rate::all`], each from 0 to 1; frames are lost by
    /// their length. `None` for none.
    pub bit: Option<[f64; Rate::COUNT]>,
    /// Whether RTS, CTS and ACK frames are lost, too.
    pub control: bool,
}

impl ErrorConfig {
    /// No errors.
    pub fn none() -> Self {
        Self::default()
    }

    /// This packet error rate.
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
    /// By transmitter and addressee; with the default from the first frame on.
    directions: BTreeMap<(StationId, StationId), Direction>,
    /// Nobody loses anything.
    is_none: bool,
}

#[derive(Debug)]
struct Direction {
    config: ErrorConfig,
    rng: Rng,
    /// A length and rate, and the probability that follows from its bits.
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
                direction.last = (octets, rate, frame_error_rate(rates[rate.index()], octets));
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
