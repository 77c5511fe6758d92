//! Chosen packets are lost on the channels of links.

use lasthop_link::Flip;
use lasthop_packet::Instant;
use lasthop_wifi::{MacFrame, Receiver, StationId, Wlan};

use crate::packets::PacketKey;
use crate::transit::Transit;

/// A packet comes into the hands of a station's MAC: if it is one to lose, the MAC has its link's
/// channel bad from its first transmission on.
#[inline]
pub(super) fn packet_begins(wlan: &mut Wlan, from: StationId, frame: MacFrame, transit: &Transit) {
    if let Receiver::Station(to) = frame.to
        && wlan.has_channels()
    {
        choose(wlan, (from, to), frame, transit);
    }
}

#[cold]
fn choose(wlan: &mut Wlan, link: (StationId, StationId), frame: MacFrame, transit: &Transit) {
    let Some(channel) = wlan.channel_mut(link).filter(|it| it.is_forced()) else { return };
    let packet = transit.packet(PacketKey(frame.key));
    let Some(first) = transit.first_octet(packet) else { return };
    if channel.is_to_lose(packet, first) {
        wlan.lose(link, frame.key);
    }
}

/// A station is done with a packet, which was delivered or given up. A channel that was bad for it is good
/// again: its link, and when.
#[inline]
pub(super) fn packet_ends(
    wlan: &mut Wlan,
    from: StationId,
    frame: MacFrame,
    now: Instant,
) -> Option<((StationId, StationId), Flip)> {
    let Receiver::Station(to) = frame.to else { return None };
    if !wlan.has_channels() {
        return None;
    }
    let flip = wlan.channel_mut((from, to))?.packet_ends(from.index(), now)?;
    Some(((from, to), flip))
}
