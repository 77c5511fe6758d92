//! The talk activity of a source.

use std::time::Duration;

use lasthop_packet::Instant;

/// A talker sends at least this many packets in this time, or in up to twice that.
const PACKETS: u32 = 25;
const TIME: Duration = Duration::from_secs(5);

/// The packets of a source in the current period, and in the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Talk {
    since: Instant,
    packets: u32,
    before: u32,
}

impl Talk {
    pub(super) const fn new(now: Instant) -> Self {
        Self { since: now, packets: 0, before: 0 }
    }

    /// Counts a packet.
    pub(super) fn on_packet(&mut self, now: Instant) {
        let passed = now.since(self.since);
        if passed >= TIME {
            let before = if passed < 2 * TIME { self.packets } else { 0 };
            *self = Self { since: now, packets: 0, before };
        }
        self.packets = self.packets.saturating_add(1);
    }

    /// Whether it sends as often as a talker does.
    pub(super) const fn is_speech(&self) -> bool {
        self.packets.saturating_add(self.before) >= PACKETS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_packets_in_a_second_are_speech_and_two_are_not() {
        for (packets_a_second, expected) in [(5, true), (2, false)] {
            let mut talk = Talk::new(Instant::ZERO);
            for packet in 0..packets_a_second * 60 {
                talk.on_packet(Instant::from_millis(packet * 1000 / packets_a_second));
                assert!(expected || !talk.is_speech());
            }
            assert_eq!(talk.is_speech(), expected);
        }
    }

    #[test]
    fn packets_before_a_pause_do_not_count() {
        let mut talk = Talk::new(Instant::ZERO);
        for packet in 0..100 {
            talk.on_packet(Instant::from_millis(packet * 20));
        }
        assert!(talk.is_speech());
        talk.on_packet(Instant::from_secs(20));
        assert!(!talk.is_speech());
    }
}
