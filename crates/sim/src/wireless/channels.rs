//! The channels of all wireless links, each brought up to date when it is looked at.

use std::collections::BTreeMap;

use lasthop_packet::{Instant, Seq};
use lasthop_tcp::connection::Endpoint;

use super::channel::{Channel, ChannelConfig, Flip};
use crate::id::{HopId, LinkId};
use crate::observe::TraceEvent;
use crate::parcel::ParcelKey;
use crate::transit::Transit;

#[derive(Default)]
pub(super) struct Channels {
    all: Vec<ChannelOfLink>,
    /// Where the data of TCP's streams begins, by sender and receiver: losses of chosen packets
    /// count from there.
    first_octets: BTreeMap<(Endpoint, Endpoint), Seq>,
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

    pub(super) fn note_stream(&mut self, from: Endpoint, to: Endpoint, first_octet: Seq) {
        self.first_octets.insert((from, to), first_octet);
    }

    /// Whether a transmission from now to `end` is lost.
    pub(super) fn loses(&mut self, channel: usize, end: Instant, transit: &mut Transit) -> bool {
        self.catch_up(channel, transit);
        self.all[channel].channel.loses(end)
    }

    /// A parcel's first transmission is about to begin: if it is one to lose, the channel turns
    /// bad.
    pub(super) fn packet_begins(&mut self, channel: usize, by: HopId, key: ParcelKey, transit: &mut Transit) {
        if !self.all[channel].channel.is_forced() {
            return;
        }
        self.catch_up(channel, transit);
        let packet = transit.parcels[key].packet();
        let Some(tcp) = packet.tcp() else { return };
        let (from, to) =
            ((packet.ip().source, tcp.source_port), (packet.ip().destination, tcp.destination_port));
        let Some(first) = self.first_octets.get(&(from, to)) else { return };
        let flip = self.all[channel].channel.packet_begins(packet, *first, by, transit.now);
        self.tell(channel, flip, transit);
    }

    /// A parcel is through, delivered or given up.
    pub(super) fn packet_ends(&mut self, channel: usize, by: HopId, transit: &mut Transit) {
        let flip = self.all[channel].channel.packet_ends(by, transit.now);
        self.tell(channel, flip, transit);
    }

    /// Puts another error process in a channel's place.
    pub(super) fn replace(&mut self, channel: usize, config: &ChannelConfig, transit: &mut Transit) {
        self.catch_up(channel, transit);
        let ChannelOfLink { link, channel } = &mut self.all[channel];
        let was_good = channel.is_good();
        *channel = channel.replaced(config.clone(), transit.now);
        if !was_good {
            transit.emit(&TraceEvent::ChannelState { link: *link, at: transit.now, good: true });
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
        channel.advance(transit.now, |Flip { at, good }| {
            let event = TraceEvent::ChannelState { link: *link, at, good };
            transit.telemetry.emit(transit.now, &event);
        });
    }

    fn tell(&self, channel: usize, flip: Option<Flip>, transit: &mut Transit) {
        if let Some(Flip { at, good }) = flip {
            transit.emit(&TraceEvent::ChannelState { link: self.all[channel].link, at, good });
        }
    }
}
