//! Channels of links: chosen packets are lost on them, and changes of their states are told.

use lasthop_link::{Channel, Flip};
use lasthop_wifi::{MacFrame, Output as WlanOutput, Receiver, StationId};

use super::Cells;
use crate::id::WlanId;
use crate::observe::TraceEvent;
use crate::packets::PacketKey;
use crate::transit::Transit;

impl Cells {
    /// Gives the link between two stations a channel.
    pub(crate) fn set_channel(&mut self, id: WlanId, between: (StationId, StationId), channel: Channel) {
        let cell = &mut self.all[id.index()];
        if channel.is_forced() {
            // The last fate of a packet ends what is done to it.
            cell.tell_fates();
        }
        cell.wlan.set_channel(between, channel);
    }

    /// Brings the channels of a cell up to now.
    pub(super) fn catch_up_channels(&mut self, id: WlanId, transit: &mut Transit) {
        let wlan = &mut self.all[id.index()].wlan;
        let changes: Vec<_> = wlan.catch_up(transit.now()).collect();
        for change in changes {
            if let WlanOutput::ChannelState { between, at, good } = change {
                self.tell_channel(id, between, Flip { at, good }, transit);
            }
        }
    }

    #[cold]
    pub(super) fn tell_channel(
        &self,
        id: WlanId,
        (one, other): (StationId, StationId),
        Flip { at, good }: Flip,
        transit: &mut Transit,
    ) {
        if let Some(port) = self.port(id, one, other) {
            transit.emit(&TraceEvent::ChannelState { link: port.link, at, good });
        }
    }

    /// A packet comes into the hands of a station's MAC: if it is one to lose, the MAC has its link's
    /// channel bad from its first transmission on.
    #[inline]
    pub(super) fn packet_begins(
        &mut self,
        id: WlanId,
        from: StationId,
        frame: MacFrame,
        transit: &mut Transit,
    ) {
        if let Receiver::Station(to) = frame.to
            && self.all[id.index()].wlan.has_channels()
        {
            self.choose(id, (from, to), frame, transit);
        }
    }

    #[cold]
    fn choose(&mut self, id: WlanId, link: (StationId, StationId), frame: MacFrame, transit: &Transit) {
        let Some(channel) = self.all[id.index()].wlan.channel_mut(link).filter(|it| it.is_forced()) else {
            return;
        };
        let packet = transit.packet(PacketKey(frame.key));
        let Some(first) = transit.first_octet(packet) else { return };
        if channel.is_to_lose(packet, first) {
            self.all[id.index()].wlan.lose(link, frame.key);
        }
    }

    /// A packet is through, delivered or given up: a channel that was bad for its sake is good again.
    #[inline]
    pub(super) fn packet_ends(
        &mut self,
        id: WlanId,
        from: StationId,
        frame: MacFrame,
        transit: &mut Transit,
    ) {
        let wlan = &mut self.all[id.index()].wlan;
        if let Receiver::Station(to) = frame.to
            && wlan.has_channels()
            && let Some(channel) = wlan.channel_mut((from, to))
            && let Some(flip) = channel.packet_ends(from.index(), transit.now())
        {
            self.tell_channel(id, (from, to), flip, transit);
        }
    }
}
