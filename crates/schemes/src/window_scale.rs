//! How windows are scaled: known only to who has seen the handshake (RFC 7323, section 2).

use lasthop_packet::{Packet, Seq};
use serde::{Deserialize, Serialize};

use crate::syn::{answers, opening};

/// What a side's SYN said of its windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Scale {
    /// There was none yet.
    #[default]
    Unknown,
    /// They are not to be scaled.
    None,
    Shift(u8),
}

impl Scale {
    fn of(syn: &Packet) -> Self {
        match syn.tcp().and_then(|tcp| tcp.options.window_scale) {
            //= RFC 7323, section 2.3: more than 14 counts for 14
            Some(shift) => Self::Shift(shift.min(14)),
            None => Self::None,
        }
    }

    /// Takes in what a SYN of this side says, when the other side's SYN said `other`. Only SYNs of the
    /// handshake count that the SYN with the number `opened_by` began, and only until it was answered: what
    /// is repeated or forged later changes nothing. Whether it counts.
    pub(crate) fn note(&mut self, syn: &Packet, other: Self, opened_by: Option<Seq>) -> bool {
        let is_of_handshake = match opening(syn) {
            Some(seq) => opened_by == Some(seq),
            None => answers(syn, opened_by),
        };
        let counts = is_of_handshake && (*self == Self::Unknown || other == Self::Unknown);
        if counts {
            *self = Self::of(syn);
        }
        counts
    }

    /// The same where it comes from elsewhere.
    pub(crate) fn bounded(self) -> Self {
        match self {
            Self::Shift(shift) => Self::Shift(shift.min(14)),
            other => other,
        }
    }

    /// By how much this side's windows are scaled: not at all unless both sides offer it.
    pub(crate) const fn with(self, other: Self) -> Option<u8> {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => None,
            (Self::Shift(shift), Self::Shift(_)) => Some(shift),
            _ => Some(0),
        }
    }
}
