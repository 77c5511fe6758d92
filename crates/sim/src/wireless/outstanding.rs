//! Frames at their sender, from their first transmission to their fate.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::Instant;

use crate::packets::PacketKey;

/// A frame from its first transmission to its fate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) key: PacketKey,
    pub(crate) len: u32,
    pub(crate) number: u32,
    pub(crate) transmissions: u32,
    pub(crate) queueing: Duration,
    pub(crate) air_time: Duration,
    /// When the latest transmission began.
    pub(crate) began: Instant,
    /// Whether the transmission under way has been confirmed.
    pub(crate) confirmed: bool,
    /// Whether a copy has reached, or will reach, the receiver.
    pub(crate) copied: bool,
}

/// The window of a selective-repeat sender: frames of consecutive numbers, of which those in the middle may be done with.
#[derive(Debug)]
pub(super) struct Outstanding {
    /// The most numbers from the oldest frame to the newest.
    window: usize,
    /// The number of the first of `frames`.
    oldest: u32,
    /// `None`: done with. The first never is.
    frames: VecDeque<Option<Frame>>,
    /// The numbers of those that are to be transmitted again, in the order in which the sender has
    /// noticed.
    again: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    sending: Sending,
    /// When the sender learns of its latest transmission's fate; `None` while that is not decided,
    /// or it is to be transmitted again.
    known_at: Option<Instant>,
}

impl Outstanding {
    pub(super) fn new(window: u32) -> Self {
        let room = window as usize;
        let (frames, again) = (VecDeque::with_capacity(room), VecDeque::with_capacity(room));
        Self { window: room, oldest: 0, frames, again }
    }

    /// Whether no new frame may be sent.
    pub(super) fn is_full(&self) -> bool {
        self.frames.len() >= self.window
    }

    /// Whether a frame is to be transmitted again.
    pub(super) fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// The frame that is to be transmitted again now.
    pub(super) fn next_again(&mut self) -> Option<Sending> {
        let number = self.again.pop_front()?;
        self.frame(number).map(|frame| frame.sending)
    }

    /// A frame has been transmitted, for the first time or again. `known_at` is when the sender
    /// learns that it was lost.
    pub(super) fn transmitted(&mut self, sending: Sending, known_at: Option<Instant>) {
        if self.frames.is_empty() {
            self.oldest = sending.number;
        }
        let frame = Frame { sending, known_at };
        match self.frame(sending.number) {
            Some(known) => *known = frame,
            None => self.frames.push_back(Some(frame)),
        }
    }

    /// Records whether the acknowledgment of a frame reaches the sender, and when the sender knows.
    pub(super) fn decided(&mut self, number: u32, is_confirmed: bool, known_at: Instant) {
        if let Some(frame) = self.frame(number) {
            frame.sending.confirmed = is_confirmed;
            frame.known_at = Some(known_at);
        }
    }

    /// The oldest frame of which the sender knows more by `now`. It then waits for what comes of
    /// that: [`Self::repeat`] or [`Self::done`].
    pub(super) fn next_known(&mut self, now: Instant) -> Option<Sending> {
        let is_due = |frame: &&mut Frame| frame.known_at.is_some_and(|known_at| known_at <= now);
        let frame = self.frames.iter_mut().flatten().find(is_due)?;
        frame.known_at = None;
        Some(frame.sending)
    }

    /// A frame is to be transmitted again, ahead of new ones.
    pub(super) fn repeat(&mut self, number: u32) {
        self.again.push_back(number);
    }

    /// The sender is through with a frame.
    pub(super) fn done(&mut self, number: u32) {
        let at = number.wrapping_sub(self.oldest) as usize;
        if let Some(frame) = self.frames.get_mut(at) {
            *frame = None;
        }
        while let Some(None) = self.frames.front() {
            self.frames.pop_front();
            self.oldest = self.oldest.wrapping_add(1);
        }
    }

    /// The number of frames that have reached the receiver, or will.
    pub(super) fn copied(&self) -> usize {
        self.frames.iter().flatten().filter(|frame| frame.sending.copied).count()
    }

    fn frame(&mut self, number: u32) -> Option<&mut Frame> {
        let at = number.wrapping_sub(self.oldest) as usize;
        self.frames.get_mut(at)?.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_millis(5);

    fn sending(number: u32) -> Sending {
        Sending {
            key: PacketKey(number),
            len: 100,
            number,
            transmissions: 1,
            queueing: Duration::ZERO,
            air_time: Duration::ZERO,
            began: Instant::ZERO,
            confirmed: false,
            copied: false,
        }
    }

    fn numbers(mut next: impl FnMut() -> Option<Sending>) -> Vec<u32> {
        std::iter::from_fn(|| next().map(|sending| sending.number)).collect()
    }

    /// Three frames of numbers that wrap around, all of them lost.
    fn three() -> Outstanding {
        let mut outstanding = Outstanding::new(3);
        for number in [u32::MAX, 0, 1] {
            outstanding.transmitted(sending(number), Some(NOW));
        }
        outstanding
    }

    #[test]
    fn the_window_moves_when_the_oldest_frame_is_done_with() {
        let mut outstanding = three();
        assert!(outstanding.is_full());
        outstanding.done(0);
        assert!(outstanding.is_full(), "the oldest is still there");
        outstanding.done(u32::MAX);
        assert!(!outstanding.is_full());
        assert_eq!(numbers(|| outstanding.next_known(NOW)), [1]);
    }

    #[test]
    fn what_is_sent_again_comes_in_the_order_in_which_it_was_missed() {
        let mut outstanding = three();
        assert_eq!(numbers(|| outstanding.next_known(Instant::from_millis(4))), []);
        outstanding.decided(0, true, Instant::from_millis(4));
        let confirmed = outstanding.next_known(Instant::from_millis(4));
        assert_eq!(confirmed.map(|sending| (sending.number, sending.confirmed)), Some((0, true)));
        for number in [1, u32::MAX] {
            outstanding.repeat(number);
        }
        assert_eq!(numbers(|| outstanding.next_again()), [1, u32::MAX]);
        assert!(!outstanding.has_again());
    }
}
