//! A receive buffer that grows: dynamic right-sizing.
//!
//! As in Linux 6.18 (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`, `tcp_grow_window`): the buffer grows once in
//! a round trip, to the size that the sender may need in the next one; and the advertised window grows with
//! each segment, up to the buffer.
//!
//! The kernel counts memory, and assumes a share of it for payload (`scaling_ratio`): a half until the first
//! segment shows its memory. We count octets of payload, with a share of five eighths from the first segment
//! on: a segment of 1448 octets in an Ethernet frame needs 2304 octets of memory.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

/// Shorter segments do not open the window.
const SHORTEST_SEGMENT: u32 = 128;
/// Segments assumed in a round trip before the first measurement.
const INITIAL_SEGMENTS: u32 = 10;

/// The buffer and the advertised window, in octets.
#[derive(Debug)]
pub(super) struct Tuning {
    buffer: u32,
    /// The maximum of the buffer.
    largest_buffer: u32,
    offered: u32,
    /// The maximum number of octets that the application has read in a round trip.
    read_in_round_trip: u32,
    /// When the round trip began, and the next octet to read then.
    round_trip: Option<(Instant, Seq)>,
    /// When data last arrived.
    latest: Instant,
}

impl Tuning {
    /// Begins with a window of `buffer` octets, half of the memory.
    pub(super) fn new(buffer: u32, largest_buffer: u32) -> Self {
        Self {
            buffer: largest_buffer.min(buffer.saturating_add(buffer / 4)),
            largest_buffer,
            offered: buffer,
            read_in_round_trip: buffer,
            round_trip: None,
            latest: Instant::ZERO,
        }
    }

    /// Begins the transfer with the negotiated segment size.
    pub(super) fn begin(&mut self, mss: u32) {
        self.read_in_round_trip = self.offered.min(INITIAL_SEGMENTS.saturating_mul(mss));
    }

    /// Limits the window to `largest` octets.
    pub(super) fn limit(&mut self, largest: u32) {
        self.largest_buffer = self.largest_buffer.min(largest);
        self.buffer = self.buffer.min(largest);
        self.offered = self.offered.min(largest);
    }

    pub(super) const fn buffer(&self) -> u32 {
        self.buffer
    }

    /// The largest window to advertise now.
    pub(super) const fn offered(&self) -> u32 {
        self.offered
    }

    /// Data arrived; `first` is the next octet to read.
    pub(super) fn on_arrival(&mut self, first: Seq, now: Instant) {
        self.latest = now;
        self.round_trip.get_or_insert((now, first));
    }

    /// A segment arrived, with `unread` octets in the buffer: opens the window by two segments. Returns whether
    /// there was room.
    pub(super) fn open(&mut self, len: u32, mss: u32, unread: u32) -> bool {
        let room = self.buffer.saturating_sub(unread).saturating_sub(self.offered);
        if room == 0 || len < SHORTEST_SEGMENT {
            return false;
        }
        self.offered += room.min(2 * len.max(mss));
        true
    }

    /// The application has read everything before `first`; `unread` octets follow in order, and `behind_gap`
    /// octets lie between RCV.NXT and the end of the data above a gap.
    pub(super) fn on_read(&mut self, first: Seq, unread: u32, behind_gap: u32, round_trip: Option<Duration>) {
        let (Some((began, from)), Some(round_trip)) = (self.round_trip, round_trip) else { return };
        if self.latest.since(began) < round_trip {
            return;
        }
        let read = (first - from).saturating_sub(unread);
        if read > self.read_in_round_trip {
            let before = std::mem::replace(&mut self.read_in_round_trip, read);
            self.grow(u64::from(read - before), u64::from(before.max(1)), behind_gap);
        }
        self.round_trip = Some((self.latest, first));
    }

    /// Data arrived above a gap: while it is being filled, as much room as without it is needed in addition.
    pub(super) fn make_room_after_gap(&mut self, behind_gap: u32) {
        self.grow(0, 1, behind_gap);
    }

    /// Grows to twice the octets read, because the measurement is a round trip old, and more by twice their
    /// growth (`growth / before`), because in slow start they will grow again.
    fn grow(&mut self, growth: u64, before: u64, behind_gap: u32) {
        let twice = 2 * u64::from(self.read_in_round_trip);
        let growth = (2 * twice).saturating_mul(growth) / before;
        let needed = twice.saturating_add(growth).saturating_add(u64::from(behind_gap));
        let needed = u32::try_from(needed).unwrap_or(u32::MAX).min(self.largest_buffer);
        self.buffer = self.buffer.max(needed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Duration> = Some(Duration::from_millis(50));

    fn tuning() -> Tuning {
        let mut tuning = Tuning::new(48_000, 3_000_000);
        tuning.begin(1000);
        tuning.on_arrival(Seq(0), Instant::ZERO);
        tuning
    }

    #[test]
    fn the_buffer_is_twice_the_octets_read_in_a_round_trip_plus_their_growth() {
        let mut tuning = tuning();
        tuning.on_arrival(Seq(0), Instant::from_millis(49));
        tuning.on_read(Seq(30_000), 0, 0, RTT);
        assert_eq!(tuning.buffer(), 60_000, "the round trip is not over");
        tuning.on_arrival(Seq(0), Instant::from_millis(50));
        tuning.on_read(Seq(20_000), 0, 0, None);
        assert_eq!(tuning.buffer(), 60_000, "and how long it is must be known");
        tuning.on_read(Seq(20_000), 0, 0, RTT);
        // From 10 segments, as was assumed, to 20.
        assert_eq!(tuning.buffer(), 40_000 + 80_000);
        tuning.on_arrival(Seq(0), Instant::from_millis(100));
        tuning.on_read(Seq(40_000), 0, 0, RTT);
        assert_eq!(tuning.buffer(), 120_000, "no more than before");
        tuning.make_room_after_gap(90_000);
        assert_eq!(tuning.buffer(), 40_000 + 90_000);
    }

    #[test]
    fn the_buffer_grows_up_to_its_maximum() {
        let mut tuning = tuning();
        tuning.on_arrival(Seq(0), Instant::from_millis(50));
        tuning.on_read(Seq(1_900_000_000), 0, 0, RTT);
        assert_eq!(tuning.buffer(), 3_000_000);
        tuning.make_room_after_gap(u32::MAX);
        assert_eq!(tuning.buffer(), 3_000_000);
    }

    #[test]
    fn each_segment_opens_the_window_by_two_up_to_the_buffer() {
        let mut tuning = Tuning::new(8000, 12_000);
        tuning.begin(1000);
        assert_eq!((tuning.offered(), tuning.buffer()), (8000, 10_000), "five eighths of the memory");
        assert!(!tuning.open(127, 1000, 0));
        assert!(!tuning.open(1000, 1000, 2000), "what is not read takes room");
        assert!(tuning.open(1000, 1000, 1000));
        assert_eq!(tuning.offered(), 9000);
        assert!(tuning.open(1000, 1000, 0));
        assert!(!tuning.open(1000, 1000, 0), "it is as large as the buffer");
        tuning.make_room_after_gap(50_000);
        assert!(tuning.open(1000, 1000, 0));
        assert_eq!((tuning.offered(), tuning.buffer()), (12_000, 12_000));
    }
}
