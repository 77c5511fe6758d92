//! F-RTO (RFC 5682, with SACK as in its section 3): whether a time-out came too early. After the
//! first retransmission new data goes, not the next one; if what was outstanding is acknowledged
//! without having been sent again, nothing was lost.

use lasthop_packet::Seq;

use super::loss_recovery::{Next, Sender};

/// Where the algorithm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FRto {
    /// The time-out was real, or is not examined.
    Off,
    /// The first segment goes again.
    Waiting,
    /// It was acknowledged: new data goes.
    Probing,
}

impl FRto {
    /// Whether the ACK is for a segment from before the time-out that was sent once.
    ///
    //= RFC 5682, section 3.1, step 3.b: the time-out came too early.
    pub(super) fn shows_original(self, end: Seq, sender: &Sender<'_>) -> bool {
        let original = sender.queue.delivery().first_original;
        self != Self::Off && original.is_some_and(|original| !original.after(end))
    }

    /// An ACK came, and recovery lasts until `end`. Returns until when it lasts now.
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

    /// What leaves next, if this decides it.
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
