//! The receive reordering buffer of a block ack agreement (IEEE 802.11-2020, 10.25.6.6).

use std::collections::VecDeque;

use lasthop_packet::Instant;

use crate::frame::MacFrame;

/// Sequence numbers have 12 bits (9.2.4.4).
const MODULO: u16 = 1 << 12;

/// The frames of one sender that have arrived before a frame with a lower sequence number.
#[derive(Debug)]
pub(crate) struct Reordering {
    /// `WinStart_B`: the number of the next frame in order.
    start: u16,
    /// `WinSize_B`, at most half the sequence numbers.
    window: u16,
    /// In order of their numbers. The packets of an A-MSDU have the same one.
    held: VecDeque<Held>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    sequence: u16,
    frame: MacFrame,
    arrived: Instant,
}

/// How far `sequence` is ahead of `start`.
pub(crate) const fn ahead(sequence: u16, start: u16) -> u16 {
    sequence.wrapping_sub(start) % MODULO
}

/// The sequence number after this one.
pub(crate) const fn next(sequence: u16) -> u16 {
    (sequence + 1) % MODULO
}

impl Reordering {
    pub(crate) const fn new(window: u16) -> Self {
        Self { start: 0, window, held: VecDeque::new() }
    }

    /// Receives an MPDU with these packets. The packets that are in order then are passed to `release`. Returns whether
    /// the MPDU is new.
    pub(crate) fn receive(
        &mut self,
        sequence: u16,
        packets: impl Iterator<Item = MacFrame>,
        now: Instant,
        mut release: impl FnMut(MacFrame),
    ) -> bool {
        let distance = ahead(sequence, self.start);
        //= IEEE 802.11-2020, 10.25.6.6.2: what is half the numbers ahead or more is old.
        if distance >= MODULO / 2 || self.held.iter().any(|held| held.sequence == sequence) {
            return false;
        }
        //= IEEE 802.11-2020, 10.25.6.6.2: a frame beyond the window moves the window to end with it.
        if distance >= self.window {
            self.move_to(ahead(sequence, self.window - 1), &mut release);
        }
        if sequence == self.start && self.held.is_empty() {
            packets.for_each(release);
            self.start = next(sequence);
            return true;
        }
        let start = self.start;
        let is_before = |held: &Held| ahead(held.sequence, start) < ahead(sequence, start);
        let place = self.held.partition_point(is_before);
        for (offset, frame) in packets.enumerate() {
            self.held.insert(place + offset, Held { sequence, frame, arrived: now });
        }
        self.release_in_order(&mut release);
        true
    }

    /// The sender has given up all frames before this one (a block ack request with this starting sequence number).
    /// The frames that are in order then are passed to `release`.
    pub(crate) fn move_to(&mut self, start: u16, release: &mut impl FnMut(MacFrame)) {
        let distance = ahead(start, self.start);
        if distance >= MODULO / 2 {
            return;
        }
        let before = self.held.partition_point(|held| ahead(held.sequence, self.start) < distance);
        self.held.drain(..before).for_each(|held| release(held.frame));
        self.start = start;
        self.release_in_order(release);
    }

    /// A new agreement, which begins with this frame. The frames of the one before are passed to `release`.
    #[cold]
    pub(crate) fn restart(&mut self, start: u16, release: &mut impl FnMut(MacFrame)) {
        self.held.drain(..).for_each(|held| release(held.frame));
        self.start = start;
    }

    fn release_in_order(&mut self, release: &mut impl FnMut(MacFrame)) {
        while let Some(first) = self.held.front().copied().filter(|held| held.sequence == self.start) {
            while let Some(held) = self.held.front().copied().filter(|held| held.sequence == first.sequence) {
                self.held.pop_front();
                release(held.frame);
            }
            self.start = next(first.sequence);
        }
    }

    /// When the oldest of the frames arrived that wait for another.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        self.held.iter().map(|held| held.arrived).min()
    }

    /// Gives up the frames that are missing before those that arrived at `latest` or earlier.
    pub(crate) fn give_up(&mut self, latest: Instant, release: &mut impl FnMut(MacFrame)) {
        let last = self.held.iter().rev().find(|held| held.arrived <= latest).map(|held| held.sequence);
        if let Some(last) = last {
            self.move_to(next(last), release);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::{Receiver, StationId};

    fn frame(key: u32) -> MacFrame {
        MacFrame { to: Receiver::Station(StationId::from_index(0)), key, octets: 1000 }
    }

    /// The keys that MPDUs with these numbers release; the key is the number.
    fn released(buffer: &mut Reordering, sequences: &[u16]) -> Vec<u32> {
        let mut keys = Vec::new();
        for sequence in sequences {
            let packet = frame(u32::from(*sequence));
            buffer.receive(*sequence, [packet].into_iter(), Instant::ZERO, |frame| keys.push(frame.key));
        }
        keys
    }

    #[test]
    fn frames_wait_for_those_before_them() {
        let mut buffer = Reordering::new(64);
        assert_eq!(released(&mut buffer, &[0, 2, 3]), [0]);
        assert_eq!(released(&mut buffer, &[1]), [1, 2, 3]);
        assert_eq!(buffer.waits_since(), None);
    }

    #[test]
    fn what_has_arrived_before_is_not_new() {
        let mut buffer = Reordering::new(64);
        assert_eq!(released(&mut buffer, &[0, 2]), [0]);
        for sequence in [0, 2, 4095] {
            assert!(!buffer.receive(sequence, [frame(9)].into_iter(), Instant::ZERO, |_| ()), "{sequence}");
        }
    }

    #[test]
    fn a_frame_beyond_the_window_moves_it() {
        let mut buffer = Reordering::new(4);
        assert_eq!(released(&mut buffer, &[1, 2]), Vec::<u32>::new());
        // The window is 2 to 5 then, so that 1 and 2 need not wait for 0.
        assert_eq!(released(&mut buffer, &[5]), [1, 2]);
        assert_eq!(released(&mut buffer, &[3, 4]), [3, 4, 5]);
    }

    #[test]
    fn a_request_releases_what_is_before_its_number_and_in_order_after_it() {
        let mut buffer = Reordering::new(64);
        released(&mut buffer, &[1, 3, 4, 6]);
        let mut keys = Vec::new();
        buffer.move_to(3, &mut |frame: MacFrame| keys.push(frame.key));
        assert_eq!(keys, [1, 3, 4]);
        // An old request changes nothing.
        buffer.move_to(2, &mut |frame: MacFrame| keys.push(frame.key));
        assert_eq!(keys, [1, 3, 4]);
    }

    #[test]
    fn what_is_missing_is_given_up_after_a_while() {
        let mut buffer = Reordering::new(64);
        for (sequence, at) in [(1, 10), (3, 20), (5, 30)] {
            let packet = [frame(u32::from(sequence))];
            buffer.receive(sequence, packet.into_iter(), Instant::from_millis(at), |_| ());
        }
        assert_eq!(buffer.waits_since(), Some(Instant::from_millis(10)));
        let mut keys = Vec::new();
        buffer.give_up(Instant::from_millis(20), &mut |frame: MacFrame| keys.push(frame.key));
        assert_eq!(keys, [1, 3]);
        assert_eq!(buffer.waits_since(), Some(Instant::from_millis(30)));
    }

    #[test]
    fn the_packets_of_an_a_msdu_arrive_together_or_not_at_all() {
        let mut buffer = Reordering::new(64);
        let mut keys = Vec::new();
        for (sequence, packets) in [(1, [10, 11]), (0, [20, 21]), (1, [30, 31]), (2, [40, 41])] {
            let packets = packets.map(frame);
            buffer.receive(sequence, packets.into_iter(), Instant::ZERO, |frame| keys.push(frame.key));
        }
        assert_eq!(keys, [20, 21, 10, 11, 40, 41]);
    }

    proptest! {
        /// Whatever arrives in whatever order within the window, each frame is released once and in order.
        #[test]
        fn each_frame_is_released_once_and_in_order(
            first in 0_u16..2048, order in Just((0_u16..200).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let mut buffer = Reordering::new(64);
            buffer.move_to(first, &mut |_| ());
            let start = buffer.start;
            let mut keys = Vec::new();
            // In windows of 64, each shuffled, every frame twice.
            for window in (0..200_u16).collect::<Vec<_>>().chunks(64) {
                for offset in order.iter().filter(|offset| window.contains(offset)) {
                    for _ in 0..2 {
                        let (sequence, packet) = ((start + offset) % MODULO, [frame(u32::from(*offset))]);
                        buffer.receive(sequence, packet.into_iter(), Instant::ZERO, |frame| keys.push(frame.key));
                    }
                }
            }
            prop_assert_eq!(keys, (0..200).collect::<Vec<u32>>());
        }
    }
}
