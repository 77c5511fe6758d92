//! A contender's own frames, which are sent before its packets.

use super::Attempts;
use crate::own_frame::OwnFrame;

/// An own frame and its transmissions so far.
#[derive(Debug)]
struct Own {
    frame: OwnFrame,
    attempts: Attempts,
}

/// A contender's own frames.
#[derive(Debug, Default)]
pub(super) struct OwnFrames {
    /// The frame that is sent before the packet at the head of the queue, even if that one has been
    /// transmitted already. It changes between exchanges only.
    current: Option<Own>,
    /// A frame of power save, if it became due during an exchange.
    next: Option<OwnFrame>,
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

    /// Adds a frame of power save, which is due. [`Self::advance`] follows at once or after the exchange.
    pub(super) const fn set_next(&mut self, frame: OwnFrame) {
        self.next = Some(frame);
    }

    /// Withdraws frames of power save; the current one only if no exchange is under way.
    pub(super) fn withdraw(&mut self, is_exchanging: bool) {
        self.next = None;
        if !is_exchanging {
            self.current = None;
        }
    }

    /// The current frame was delivered or given up.
    pub(super) fn pop(&mut self) {
        self.current = None;
    }

    /// Between exchanges, makes the next frame the current one. If another frame of power save is, one is
    /// enough.
    #[inline]
    pub(super) fn advance(&mut self) {
        if let Some(frame) = self.next.take()
            && self.current.is_none()
        {
            self.current = Some(Own { frame, attempts: Attempts::default() });
        }
    }
}
