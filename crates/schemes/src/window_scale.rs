//! How windows are scaled: known only to who has seen the handshake (RFC 7323, section 2).

use lasthop_packet::Packet;
use serde::{Deserialize, Serialize};

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
    pub(crate) fn of(syn: &Packet) -> Self {
        match syn.tcp().and_then(|tcp| tcp.options.window_scale) {
            //= RFC 7323, section 2.3: more than 14 counts for 14
            Some(shift) => Self::Shift(shift.min(14)),
            None => Self::None,
        }
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
