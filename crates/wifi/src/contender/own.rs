//! A contender's own frames, which are sent before its packets: first one that the MAC has made, then raw frames
//! in their order.

use std::collections::VecDeque;

use super::Attempts;
use crate::own_frame::{OwnFrame, RawFrame};
use crate::rates::{Rates, RetryChain};

/// The number of raw frames that wait at most.
pub(super) const LIMIT: usize = 64;

/// An own frame and its transmissions so far.
#[derive(Debug)]
struct Own {
    frame: OwnFrame,
    attempts: Attempts,
    /// The frame, if it is a raw frame, and its sequence number.
    raw: Option<(RawFrame, u16)>,
}

impl Own {
    fn of_mac(frame: OwnFrame) -> Self {
        Self { frame, attempts: Attempts::default(), raw: None }
    }

    fn raw(frame: RawFrame, sequence: u16) -> Self {
        let own_frame = OwnFrame::Raw { to: frame.to };
        Self { frame: own_frame, attempts: Attempts::default(), raw: Some((frame, sequence)) }
    }
}

/// A contender's own frames.
#[derive(Debug, Default)]
pub(super) struct OwnFrames {
    /// The frame that is sent before the packet at the head of the queue, even if that one has been
    /// transmitted already. It changes between exchanges only.
    current: Option<Own>,
    /// A frame of the MAC, if it became due during an exchange.
    next: Option<OwnFrame>,
    /// Raw frames that wait.
    waiting: VecDeque<Own>,
    /// The sequence number of the next raw frame.
    next_sequence: u16,
}

impl OwnFrames {
    #[inline]
    pub(super) const fn current(&self) -> Option<OwnFrame> {
        match &self.current {
            Some(own) => Some(own.frame),
            None => None,
        }
    }

    /// The transmissions of the current frame.
    #[inline]
    pub(super) const fn attempts(&self) -> Option<&Attempts> {
        match &self.current {
            Some(own) => Some(&own.attempts),
            None => None,
        }
    }

    #[inline]
    pub(super) const fn attempts_mut(&mut self) -> Option<&mut Attempts> {
        match &mut self.current {
            Some(own) => Some(&mut own.attempts),
            None => None,
        }
    }

    /// The current frame if it is a raw frame, its sequence number, and whether it was transmitted
    /// before its present transmission.
    pub(super) fn raw(&self) -> Option<(RawFrame, u16, bool)> {
        let own = self.current.as_ref()?;
        let (frame, sequence) = own.raw?;
        Some((frame, sequence, own.attempts.transmissions() > 1))
    }

    /// The retry chain of the current frame, if it has one.
    #[inline]
    pub(super) fn retry_chain(&self) -> Option<RetryChain> {
        match self.current.as_ref()?.raw?.0.rates {
            Rates::Chain(chain) => Some(chain),
            Rates::LowestBasic | Rates::Fixed(_) => None,
        }
    }

    /// Adds a frame of the MAC, which is due: it goes first, or waits for the end of the exchange under
    /// way.
    pub(super) fn send(&mut self, frame: OwnFrame, is_exchanging: bool) {
        if is_exchanging {
            self.next = Some(frame);
        } else {
            self.put_first(frame);
        }
    }

    /// Appends a raw frame if there is room. Returns whether there was. [`Self::advance`] follows at
    /// once or after the exchange.
    pub(super) fn push(&mut self, frame: RawFrame) -> bool {
        let has_room = self.waiting.len() < LIMIT;
        if has_room {
            self.waiting.push_back(Own::raw(frame, self.next_sequence));
            self.next_sequence = (self.next_sequence + 1) & 0x0fff;
        }
        has_room
    }

    /// Withdraws frames of the MAC; the current one only if no exchange is under way.
    pub(super) fn withdraw(&mut self, is_exchanging: bool) {
        self.next = None;
        if !is_exchanging {
            self.current.take_if(|own| own.frame.is_of_mac());
            self.advance();
        }
    }

    /// The current frame was delivered or given up.
    pub(super) fn pop(&mut self) {
        self.current = None;
    }

    /// Between exchanges, makes the next frame the current one.
    #[inline]
    pub(super) fn advance(&mut self) {
        if self.next.is_some() || !self.waiting.is_empty() {
            self.choose();
        }
    }

    #[cold]
    fn choose(&mut self) {
        if let Some(frame) = self.next.take() {
            self.put_first(frame);
        } else if self.current.is_none() {
            self.current = self.waiting.pop_front();
        }
    }

    /// Makes a frame of the MAC the current one. It goes before a raw frame, even before one that
    /// has been transmitted already. If another frame of the MAC is the current one, that is enough.
    fn put_first(&mut self, frame: OwnFrame) {
        if self.current.as_ref().is_some_and(|own| own.frame.is_of_mac()) {
            return;
        }
        if let Some(interrupted) = self.current.replace(Own::of_mac(frame)) {
            self.waiting.push_front(interrupted);
        }
    }
}
