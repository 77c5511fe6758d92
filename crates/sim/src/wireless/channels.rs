//! The channels of all wireless links, each brought up to date when it is looked at.

use lasthop_packet::Instant;

use crate::channel::{Channel, ChannelConfig, Flip};
use crate::id::{HopId, LinkId};
use crate::observe::TraceEvent;
use crate::packets::PacketKey;
use crate::transit::Transit;

#[derive(Default)]
pub(super) struct Channels {
    all: Vec<ChannelOfLink>,
}

struct ChannelOfLink {
    link: LinkId,
    channel: Channel,
}

impl Channels {
    /// Adds a link's channel; its number.
    pub(super) fn add(&mut self, link: LinkId, channel: Channel) -> usize {
        self.all.push(ChannelOfLink { link, channel });
        self.all.len() - 1
    }

    /// Whether a transmission from now to `end` is lost.
    pub(super) fn loses(&mut self, channel: usize, end: Instant, transit: &mut Transit) -> bool {
        self.catch_up(channel, transit);
        self.all[channel].channel.loses(end)
    }

    /// A packet's first transmission is about to begin: if it is one to lose, the channel turns
    /// bad.
    pub(super) fn packet_begins(&mut self, channel: usize, by: HopId, key: PacketKey, transit: &mut Transit) {
        if !self.all[channel].channel.is_forced() {
            return;
        }
        self.catch_up(channel, transit);
        let packet = transit.packet(key);
        let Some(first) = transit.first_octet(packet) else { return };
        let channel_of_link = &mut self.all[channel].channel;
        let is_to_lose = channel_of_link.is_to_lose(packet, first);
        let flip = is_to_lose.then(|| channel_of_link.force(by.index(), transit.now())).flatten();
        self.report(channel, flip, transit);
    }

    /// A packet is through, delivered or given up.
    pub(super) fn packet_ends(&mut self, channel: usize, by: HopId, transit: &mut Transit) {
        let flip = self.all[channel].channel.packet_ends(by.index(), transit.now());
        self.report(channel, flip, transit);
    }

    /// Puts another error process in a channel's place.
    pub(super) fn replace(&mut self, channel: usize, config: &ChannelConfig, transit: &mut Transit) {
        self.catch_up(channel, transit);
        let ChannelOfLink { link, channel } = &mut self.all[channel];
        let was_good = channel.is_good();
        *channel = channel.replaced(config.clone(), transit.now());
        if !was_good {
            transit.emit(&TraceEvent::ChannelState { link: *link, at: transit.now(), good: true });
        }
    }

    /// Brings all states up to now.
    pub(super) fn catch_up_all(&mut self, transit: &mut Transit) {
        for channel in 0..self.all.len() {
            self.catch_up(channel, transit);
        }
    }

    /// Brings a channel's state up to now.
    fn catch_up(&mut self, channel: usize, transit: &mut Transit) {
        let ChannelOfLink { link, channel } = &mut self.all[channel];
        channel.advance(transit.now(), |Flip { at, good }| {
            let event = TraceEvent::ChannelState { link: *link, at, good };
            transit.emit(&event);
        });
    }

    fn report(&self, channel: usize, flip: Option<Flip>, transit: &mut Transit) {
        if let Some(Flip { at, good }) = flip {
            transit.emit(&TraceEvent::ChannelState { link: self.all[channel].link, at, good });
        }
    }
}
