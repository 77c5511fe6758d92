//! F-RTO (RFC 5682, with SACK as in its section 3): detects spurious time-outs. After the first
//! retransmission the sender sends new data instead of the next retransmission; if segments that
//! were sent once are then acknowledged, nothing was lost.

use lasthop_packet::Seq;

use super::loss_recovery::{Next, Sender};

/// The state of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FRto {
    /// The time-out was genuine, or is not examined.
    Off,
    /// The first segment is retransmitted; its ACK has not arrived.
    Waiting,
    /// The first ACK of new data has arrived: new data is sent.
    Probing,
}

impl FRto {
    /// Whether the ACK delivers a segment that was sent only once, before the time-out.
    ///
    //= RFC 5682, section 3.1, step 3.b: the time-out came too early.
    pub(super) fn shows_original(self, end: Seq, sender: &Sender<'_>) -> bool {
        let original = sender.queue.delivery().first_original;
        self != Self::Off && original.is_some_and(|original| !original.after(end))
    }

    /// Processes an ACK in a recovery that lasts until `end`. Returns the new end.
    pub(super) fn on_ack(&mut self, end: Seq, advanced: bool, sender: &Sender<'_>) -> Seq {
        let max = sender.flight.max;
        match self {
            Self::Off => end,
            //= RFC 5682, section 3.1, step 3.a: new data has overtaken what was outstanding: that is lost.
            _ if max.after(end) => {
                if sender.queue.delivery().sacked > 0 || !advanced {
                    *self = Self::Off;
                }
                end
            }
            //= RFC 5682, section 3.1, step 2.b: the first ACK of new data: new data goes.
            _ if advanced => {
                *self = Self::Probing;
                max
            }
            _ => end,
        }
    }

    /// The next segment to send, if F-RTO decides it.
    pub(super) fn next(&mut self, end: Seq, max: Seq, is_new_data: bool) -> Option<Next> {
        match self {
            Self::Probing if is_new_data => Some(Next::New),
            Self::Probing if max.after(end) => Some(Next::Nothing),
            //= RFC 5682, section 3.1, step 2.b: without new data the time-out counts as real.
            Self::Probing => {
                *self = Self::Off;
                None
            }
            Self::Off | Self::Waiting => None,
        }
    }
}
