//! The channels of a cell: those of links, which apply to both directions, and those of single directions.
//! Chosen packets are lost on the channels of links.

use std::collections::{BTreeMap, BTreeSet};

use lasthop_packet::{Instant, Rng};
use lasthop_wifi::{ErrorModel, MacFrame, Receiver, StationId, UndisturbedFrame};

use crate::channel::{Channel, ChannelConfig, Flip};
use crate::packets::PacketKey;
use crate::transit::Transit;

/// The channels of a cell.
#[derive(Debug)]
pub(crate) struct CellChannels {
    seed: u64,
    /// The channel of directions that are not configured, and whether it loses control frames, too.
    default: (Option<ChannelConfig>, bool),
    /// By sender and receiver; those that are not configured are added at their first frame.
    directions: BTreeMap<(StationId, StationId), Direction>,
    /// The channels of links, by their stations, the lower first.
    links: BTreeMap<(StationId, StationId), Channel>,
    /// The packets that links' channels are to lose, and their senders and receivers.
    chosen: BTreeSet<((StationId, StationId), PacketKey)>,
    /// Changes of the states of links' channels that have not been reported.
    changes: Vec<ChannelChange>,
    /// Whether no direction and no link has a channel.
    is_none: bool,
}

/// A link's stations, and a change of its channel.
pub(super) type ChannelChange = ((StationId, StationId), Flip);

#[derive(Debug)]
struct Direction {
    channel: Option<Channel>,
    /// Whether control frames are lost, too.
    control: bool,
}

/// Its configuration.
impl CellChannels {
    /// No channels yet. All randomness of directions follows from `seed`. `control`: whether the channels of
    /// directions that are not configured lose control frames.
    pub(crate) fn new(seed: u64, control: bool) -> Self {
        Self {
            seed,
            default: (None, control),
            directions: BTreeMap::new(),
            links: BTreeMap::new(),
            chosen: BTreeSet::new(),
            changes: Vec::new(),
            is_none: true,
        }
    }

    /// Sets the channel of each direction that is not configured.
    pub(crate) fn set_default(&mut self, channel: ChannelConfig) {
        self.is_none = false;
        self.default.0 = Some(channel);
    }

    /// Configures one direction, from its next frame on.
    pub(crate) fn configure(
        &mut self,
        direction: (StationId, StationId),
        channel: Option<ChannelConfig>,
        control: bool,
    ) {
        self.is_none &= channel.is_none();
        self.directions.insert(direction, Direction::new(self.seed, direction, channel, control));
    }

    /// Gives a link a channel that applies to all frames between its two stations, of any kind and in both
    /// directions.
    pub(super) fn add_link(&mut self, between: (StationId, StationId), channel: Channel) {
        self.is_none = false;
        self.links.insert(ordered(between), channel);
    }
}

/// The channels of links.
impl CellChannels {
    /// Updates them to `now`.
    pub(super) fn catch_up(&mut self, now: Instant) {
        for (between, channel) in &mut self.links {
            channel.advance(now, |flip| self.changes.push((*between, flip)));
        }
    }

    /// Whether there are changes to report.
    #[inline]
    pub(super) const fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// The changes since the last call.
    pub(super) fn take_changes(&mut self) -> Vec<ChannelChange> {
        std::mem::take(&mut self.changes)
    }

    /// A station's MAC takes over a packet. If the packet is to be lost, its link's channel is bad from its
    /// first transmission on.
    #[inline]
    pub(super) fn packet_begins(&mut self, from: StationId, frame: MacFrame, transit: &Transit) {
        if let Receiver::Station(to) = frame.to
            && !self.links.is_empty()
        {
            self.choose((from, to), PacketKey(frame.key), transit);
        }
    }

    #[cold]
    fn choose(&mut self, direction: (StationId, StationId), key: PacketKey, transit: &Transit) {
        let channel = self.links.get_mut(&ordered(direction));
        let Some(channel) = channel.filter(|channel| channel.is_forced()) else { return };
        let packet = transit.packet(key);
        let Some(first) = transit.first_octet(packet) else { return };
        if channel.is_to_lose(packet, first) {
            self.chosen.insert((direction, key));
        }
    }

    /// The transmission of a packet begins. If it was chosen, its link's channel turns bad.
    fn transmit(&mut self, direction: (StationId, StationId), key: PacketKey, now: Instant) {
        if !self.chosen.remove(&(direction, key)) {
            return;
        }
        let between = ordered(direction);
        let flip = self.links.get_mut(&between).and_then(|channel| channel.force(direction.0.index(), now));
        self.changes.extend(flip.map(|flip| (between, flip)));
    }

    /// A packet was delivered or given up. A channel that was bad because of it is good again. Returns whether
    /// there is one.
    #[inline]
    pub(super) fn packet_ends(&mut self, from: StationId, frame: MacFrame, now: Instant) -> bool {
        match frame.to {
            Receiver::Station(to) if !self.links.is_empty() => {
                self.chosen.remove(&((from, to), PacketKey(frame.key)));
                self.turn_good((from, to), now)
            }
            _ => false,
        }
    }

    #[cold]
    fn turn_good(&mut self, direction: (StationId, StationId), now: Instant) -> bool {
        let between = ordered(direction);
        let channel = self.links.get_mut(&between);
        let flip = channel.and_then(|channel| channel.packet_ends(direction.0.index(), now));
        self.changes.extend(flip.map(|flip| (between, flip)));
        flip.is_some()
    }

    /// Whether the channel of a frame's link loses it.
    fn link_loses(&mut self, frame: &UndisturbedFrame) -> bool {
        let between = ordered(frame.link);
        let Some(channel) = self.links.get_mut(&between) else { return false };
        channel.advance(frame.start, |flip| self.changes.push((between, flip)));
        channel.loses(frame.end)
    }
}

/// The channels of directions.
impl CellChannels {
    /// Whether the channel of a frame's direction loses it.
    fn direction_loses(&mut self, frame: &UndisturbedFrame) -> bool {
        let new = || Direction::new(self.seed, frame.link, self.default.0.clone(), self.default.1);
        let direction = self.directions.entry(frame.link).or_insert_with(new);
        match &mut direction.channel {
            Some(channel) if direction.control || !frame.is_control => {
                channel.advance(frame.start, |_| {});
                channel.loses(frame.end)
            }
            _ => false,
        }
    }
}

impl Direction {
    fn new(
        seed: u64,
        (from, to): (StationId, StationId),
        channel: Option<ChannelConfig>,
        control: bool,
    ) -> Self {
        let stream = |what| Rng::named(seed, &format!("radio {} {} {what}", from.index(), to.index()));
        let new = |config| Channel::new(config, Instant::ZERO, stream("stays"), stream("losses"));
        Self { channel: channel.map(new), control }
    }
}

impl ErrorModel for CellChannels {
    #[inline]
    fn is_none(&self) -> bool {
        self.is_none
    }

    fn loses(&mut self, frame: &UndisturbedFrame) -> bool {
        if self.is_none {
            return false;
        }
        if let Some(key) = frame.key {
            self.transmit(frame.link, PacketKey(key), frame.start);
        }
        // Both draw, whatever the other result is: each has random numbers of its own.
        self.direction_loses(frame) | self.link_loses(frame)
    }
}

fn ordered((one, other): (StationId, StationId)) -> (StationId, StationId) {
    (one.min(other), one.max(other))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use lasthop_wifi::Rate;

    use super::*;
    use crate::channel::{StateSource, StateTrace};

    fn station(index: usize) -> StationId {
        StationId::from_index(index)
    }

    /// A frame of 1 ms that begins at this time.
    fn frame(from: usize, to: usize, is_control: bool, start_ms: u64) -> UndisturbedFrame {
        UndisturbedFrame {
            link: (station(from), station(to)),
            key: None,
            is_control,
            rate: Rate::CCK_11,
            octets: 1000,
            start: Instant::from_millis(start_ms),
            end: Instant::from_millis(start_ms + 1),
        }
    }

    /// Bad from 100 to 300 ms.
    fn config() -> ChannelConfig {
        let changes = [(100, false), (300, true)].map(|(ms, good)| (Instant::from_millis(ms), good));
        let source = StateSource::Trace(Arc::new(StateTrace::from_changes(changes)));
        ChannelConfig { source, ..ChannelConfig::bursty(Duration::MAX, Duration::ZERO) }
    }

    const TIMES: [u64; 5] = [50, 99, 100, 299, 300];

    #[test]
    fn a_channel_of_a_link_takes_all_frames_of_both_directions_and_no_others() {
        let mut channels = CellChannels::new(1, false);
        assert!(channels.is_none());
        let [sojourns, losses] = [Rng::named(1, "stays"), Rng::named(1, "losses")];
        let channel = Channel::new(config(), Instant::ZERO, sojourns, losses);
        channels.add_link((station(1), station(0)), channel);
        let lost = TIMES.map(|at| {
            assert!(!channels.loses(&frame(2, 0, false, at)));
            let [data, ack] = [(0, 1, false), (1, 0, true)]
                .map(|(from, to, is_control)| channels.loses(&frame(from, to, is_control, at)));
            assert_eq!(data, ack, "{at}");
            data
        });
        assert_eq!(lost, [false, false, true, true, false]);
        let link = (station(0), station(1));
        let change = |ms, good| (link, Flip { at: Instant::from_millis(ms), good });
        assert_eq!(channels.take_changes(), [change(100, false), change(300, true)]);
        assert!(!channels.has_changes());
    }

    #[test]
    fn each_direction_has_the_default_unless_it_has_its_own_and_control_frames_if_they_are_to_be_lost() {
        let mut channels = CellChannels::new(1, false);
        channels.set_default(config());
        channels.configure((station(1), station(0)), Some(config()), true);
        channels.configure((station(2), station(0)), None, true);
        let lost = |channels: &mut CellChannels, from, to, is_control| {
            TIMES.map(|at| channels.loses(&frame(from, to, is_control, at)))
        };
        let none = [false; 5];
        let bad = [false, false, true, true, false];
        assert_eq!(lost(&mut channels, 0, 1, false), bad);
        assert_eq!(lost(&mut channels, 0, 2, true), none);
        assert_eq!(lost(&mut channels, 1, 0, true), bad);
        assert_eq!(lost(&mut channels, 2, 0, false), none);
        assert!(!channels.has_changes(), "only those of links are reported");
    }
}
