//! Frames that arrive alone and are lost all the same.
//!
//! A frame's fate is drawn for its addressee only: bystanders hear its Duration field in any case.
//! Each link and direction has a stream of randomness and a state of its own. Besides, both directions
//! of a link may share a channel (`Errors::set_channel`).

use std::collections::BTreeMap;

use lasthop_link::{Channel, ChannelConfig, Flip};
use lasthop_packet::{Instant, Probability, Rng};

use super::output::Output;
use super::phy::Rate;
use crate::frame::StationId;

/// An error process of one direction of a link; its parts are independent of each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorConfig {
    /// Packet error rate: of each frame, whatever its length.
    pub packet: Probability,
    /// Bit error rate by rate, in the order of [`Rate::all`], each from 0 to 1; frames are lost by
    /// their length. `None` for none.
    pub bit: Option<[f64; Rate::COUNT]>,
    /// Two states, by exponential sojourn times or by a trace ([`ChannelConfig`]). Forced losses
    /// mean nothing here.
    pub channel: Option<ChannelConfig>,
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
        self.packet.is_zero() && self.bit.is_none() && self.channel.is_none()
    }
}

/// The error processes of all links.
#[derive(Debug)]
pub(crate) struct Errors {
    seed: u64,
    default: ErrorConfig,
    configured: BTreeMap<(StationId, StationId), ErrorConfig>,
    links: BTreeMap<(StationId, StationId), Link>,
    /// Channels of links, by their stations, the lower first.
    channels: BTreeMap<(StationId, StationId), Channel>,
    /// By sender and receiver, the packet that the link's channel is to lose.
    chosen: BTreeMap<(StationId, StationId), u32>,
    /// Changes of channels' states that are still to be told.
    changes: Vec<Output>,
    /// Nobody loses anything.
    is_none: bool,
}

#[derive(Debug)]
struct Link {
    config: ErrorConfig,
    channel: Option<Channel>,
    rng: Rng,
    /// A length and rate, and the probability that follows from its bits.
    last: (u32, Rate, Probability),
}

impl Errors {
    pub(crate) fn new(seed: u64, default: ErrorConfig) -> Self {
        let is_none = default.is_none();
        Self {
            seed,
            default,
            configured: BTreeMap::new(),
            links: BTreeMap::new(),
            channels: BTreeMap::new(),
            chosen: BTreeMap::new(),
            changes: Vec::new(),
            is_none,
        }
    }

    pub(crate) fn configure(&mut self, from: StationId, to: StationId, config: ErrorConfig) {
        self.is_none &= config.is_none();
        self.links.remove(&(from, to));
        self.configured.insert((from, to), config);
    }

    /// Gives a link a channel that all frames between its two stations meet, in either direction, and
    /// control frames, too.
    pub(crate) fn set_channel(&mut self, between: (StationId, StationId), channel: Channel) {
        self.is_none = false;
        self.channels.insert(ordered(between), channel);
    }

    /// The channel of a link.
    pub(crate) fn channel_mut(&mut self, between: (StationId, StationId)) -> Option<&mut Channel> {
        self.channels.get_mut(&ordered(between))
    }

    /// The packet of this key is to be lost on its way from one station to another.
    pub(crate) fn lose(&mut self, link: (StationId, StationId), key: u32) {
        self.chosen.insert(link, key);
    }

    /// A packet's transmission begins: if it is to be lost, its link's channel turns bad.
    pub(crate) fn begins(&mut self, link: (StationId, StationId), key: u32, now: Instant) {
        if self.chosen.get(&link) != Some(&key) {
            return;
        }
        self.chosen.remove(&link);
        let between = ordered(link);
        if let Some(flip) = self.channels.get_mut(&between).and_then(|it| it.force(link.0.index(), now)) {
            self.changes.push(change(between, flip));
        }
    }

    /// Whether a link has one.
    pub(crate) fn has_channels(&self) -> bool {
        !self.channels.is_empty()
    }

    /// Brings the channels of links up to `now`.
    pub(crate) fn catch_up(&mut self, now: Instant) {
        for (between, channel) in &mut self.channels {
            channel.advance(now, |flip| self.changes.push(change(*between, flip)));
        }
    }

    /// Changes of the states of links' channels; each is told once.
    pub(crate) fn changes(&mut self) -> impl Iterator<Item = Output> {
        self.changes.drain(..)
    }

    /// Whether nobody can lose anything.
    pub(crate) const fn is_none(&self) -> bool {
        self.is_none
    }

    /// Whether a frame that was in the air from `start` to `end`, and that nothing disturbed, is
    /// lost.
    #[inline]
    pub(crate) fn loses(
        &mut self,
        (from, to): (StationId, StationId),
        is_control: bool,
        (rate, octets): (Rate, u32),
        (start, end): (Instant, Instant),
    ) -> bool {
        if self.is_none {
            return false;
        }
        let is_lost = self.draw((from, to), is_control, (rate, octets), (start, end));
        self.channel_loses((from, to), (start, end)) | is_lost
    }

    /// Whether a frame meets the bad state of its link's channel.
    fn channel_loses(&mut self, link: (StationId, StationId), (start, end): (Instant, Instant)) -> bool {
        let between = ordered(link);
        let Some(channel) = self.channels.get_mut(&between) else { return false };
        channel.advance(start, |flip| self.changes.push(change(between, flip)));
        channel.loses(end)
    }

    fn draw(
        &mut self,
        (from, to): (StationId, StationId),
        is_control: bool,
        (rate, octets): (Rate, u32),
        (start, end): (Instant, Instant),
    ) -> bool {
        let (seed, configured, default) = (self.seed, &self.configured, &self.default);
        let link = self.links.entry((from, to)).or_insert_with(|| {
            let config = configured.get(&(from, to)).unwrap_or(default).clone();
            let stream = |what| Rng::named(seed, &format!("radio {} {} {what}", from.index(), to.index()));
            let channel = config
                .channel
                .clone()
                .map(|it| Channel::new(it, Instant::ZERO, stream("stays"), stream("losses")));
            Link { config, channel, rng: stream("errors"), last: (0, Rate::DSSS_1, Probability::ZERO) }
        });
        if is_control && !link.config.control {
            return false;
        }
        let mut lost = link.rng.happens(link.config.packet);
        if let Some(rates) = &link.config.bit {
            if link.last.0 != octets || link.last.1 != rate {
                link.last = (octets, rate, frame_error_rate(rates[rate.index()], octets));
            }
            lost |= link.rng.happens(link.last.2);
        }
        if let Some(channel) = &mut link.channel {
            channel.advance(start, |_| {});
            lost |= channel.loses(end);
        }
        lost
    }
}

fn ordered((one, other): (StationId, StationId)) -> (StationId, StationId) {
    (one.min(other), one.max(other))
}

fn change(between: (StationId, StationId), Flip { at, good }: Flip) -> Output {
    Output::ChannelState { between, at, good }
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
