//! Frames that wait behind those in a queue, and the packets that may be transmitted together with the one at its head.

use std::collections::VecDeque;

use lasthop_link::{FairQueue, Fifo};

use crate::contender::attempts::Begun;
use crate::contender::round::Round;
use crate::frame::{Queued, Receiver, StationId};

/// A frame that waits for its receiver's next turn, and those that were transmitted with it.
pub(super) type Outstanding = (Begun, VecDeque<Begun>);

/// Frames that wait for the turn of their flow or receiver.
#[derive(Debug)]
pub(super) enum Behind {
    Nothing,
    Flows(Box<FairQueue<Queued>>),
    Receivers(Box<Round<Queued, Outstanding>>),
}

/// Packets that wait for a receiver, in their order.
pub(super) struct Supply<'a> {
    to: StationId,
    /// The head, and packets behind it.
    frames: &'a mut Fifo<Queued>,
    /// The place in `frames` of the first packet that may be the next one.
    place: usize,
    behind: &'a mut Behind,
}

impl<'a> Supply<'a> {
    pub(super) const fn new(to: StationId, frames: &'a mut Fifo<Queued>, behind: &'a mut Behind) -> Self {
        Self { to, frames, place: 1, behind }
    }

    /// Takes the next packet if it fits, and returns what `fits` says of it.
    pub(super) fn take<T>(&mut self, fits: impl Fn(&Queued) -> Option<T>) -> Option<(Queued, T)> {
        let to = Receiver::Station(self.to);
        while let Some(queued) = self.frames.get(self.place) {
            if queued.frame.to == to {
                let fit = fits(queued)?;
                return Some((self.frames.remove(self.place)?, fit));
            }
            self.place += 1;
        }
        match self.behind {
            Behind::Nothing => None,
            Behind::Flows(flows) => {
                let next = flows.pop()?;
                if next.frame.to == to
                    && let Some(fit) = fits(&next)
                {
                    return Some((next, fit));
                }
                // It is the turn of its flow, after this exchange.
                self.frames.push(next);
                None
            }
            Behind::Receivers(round) => {
                let fit = fits(round.next_in_hand()?)?;
                Some((round.take_in_hand()?, fit))
            }
        }
    }
}
