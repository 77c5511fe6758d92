//! Receivers that take turns in a queue, one transmission each.

use std::collections::{BTreeMap, VecDeque};

use lasthop_link::Length;

use crate::frame::Receiver;

/// A queue for each receiver. The ring holds the receivers for which frames wait, except the one
/// whose frame the MAC transmits. `T` is a frame that waits for its first transmission, `B` one
/// that was transmitted and not acknowledged.
#[derive(Debug)]
pub(super) struct Round<T, B> {
    queues: Vec<ReceiverQueue<T, B>>,
    numbers: BTreeMap<Receiver, usize>,
    ring: VecDeque<usize>,
    /// The receiver of the frame that the MAC transmits, if that frame was taken from here.
    in_hand: Option<usize>,
    /// Packets and octets that wait for their first transmission.
    size: (usize, u64),
    last_sequence: u16,
}

#[derive(Debug)]
struct ReceiverQueue<T, B> {
    begun: Option<B>,
    waiting: VecDeque<T>,
}

impl<T, B> ReceiverQueue<T, B> {
    fn is_empty(&self) -> bool {
        self.begun.is_none() && self.waiting.is_empty()
    }
}

/// The frame whose turn it is.
pub(super) enum Turn<T, B> {
    First(T),
    Again(B),
}

impl<T, B> Default for Round<T, B> {
    fn default() -> Self {
        Self {
            queues: Vec::new(),
            numbers: BTreeMap::new(),
            ring: VecDeque::new(),
            in_hand: None,
            size: (0, 0),
            last_sequence: 0,
        }
    }
}

impl<T: Length, B> Round<T, B> {
    /// Packets and octets that wait for their first transmission.
    pub(super) const fn size(&self) -> (usize, u64) {
        self.size
    }

    pub(super) fn push(&mut self, to: Receiver, frame: T) {
        let Self { queues, numbers, ring, in_hand, size, .. } = self;
        let number = *numbers.entry(to).or_insert_with(|| {
            queues.push(ReceiverQueue { begun: None, waiting: VecDeque::new() });
            queues.len() - 1
        });
        if queues[number].is_empty() && *in_hand != Some(number) {
            ring.push_back(number);
        }
        size.0 += 1;
        size.1 += u64::from(frame.octets());
        queues[number].waiting.push_back(frame);
    }

    /// Takes the frame whose turn it is, for the MAC to transmit.
    pub(super) fn take(&mut self) -> Option<Turn<T, B>> {
        let number = self.ring.pop_front()?;
        self.in_hand = Some(number);
        let queue = &mut self.queues[number];
        if let Some(begun) = queue.begun.take() {
            return Some(Turn::Again(begun));
        }
        let frame = queue.waiting.pop_front()?;
        self.size.0 -= 1;
        self.size.1 -= u64::from(frame.octets());
        Some(Turn::First(frame))
    }

    /// The next frame that waits for the receiver of the frame that the MAC transmits.
    pub(super) fn next_in_hand(&self) -> Option<&T> {
        self.queues.get(self.in_hand?)?.waiting.front()
    }

    /// Takes that frame, for the MAC to transmit with the other.
    pub(super) fn take_in_hand(&mut self) -> Option<T> {
        let frame = self.queues.get_mut(self.in_hand?)?.waiting.pop_front()?;
        self.size.0 -= 1;
        self.size.1 -= u64::from(frame.octets());
        Some(frame)
    }

    /// Whether the MAC transmits a frame from here while another receiver waits for its turn.
    pub(super) fn has_another(&self) -> bool {
        self.in_hand.is_some() && !self.ring.is_empty()
    }

    /// Puts back the frame that the MAC has transmitted. Its receiver's next turn comes last.
    pub(super) fn put_back(&mut self, begun: B) {
        if let Some(number) = self.in_hand.take() {
            self.queues[number].begun = Some(begun);
            self.ring.push_back(number);
        }
    }

    /// Ends the turn of the frame that the MAC has transmitted. Its receiver's next turn comes
    /// last.
    pub(super) fn done(&mut self) {
        if let Some(number) = self.in_hand.take()
            && !self.queues[number].is_empty()
        {
            self.ring.push_back(number);
        }
    }

    /// The sequence number of the next frame that the MAC transmits.
    pub(super) fn new_sequence(&mut self) -> u16 {
        self.last_sequence = (self.last_sequence + 1) & 0x0fff;
        self.last_sequence
    }

    /// Removes and returns the frames for a receiver, except one that was transmitted.
    #[cold]
    pub(super) fn withdraw(&mut self, to: Receiver) -> Vec<T> {
        let Some(&number) = self.numbers.get(&to) else { return Vec::new() };
        let gone: Vec<T> = self.queues[number].waiting.drain(..).collect();
        self.size.0 -= gone.len();
        self.size.1 -= gone.iter().map(|frame| u64::from(frame.octets())).sum::<u64>();
        if self.queues[number].is_empty() {
            self.ring.retain(|other| *other != number);
        }
        gone
    }
}
