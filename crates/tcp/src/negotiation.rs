//! What the two SYNs of a connection offer, and what both ends agree on by them.

use lasthop_packet::TcpOptions;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::receive::window_shift;

/// A peer that asks for less gets this much: otherwise it could have its data, and what is known of each
/// segment, multiplied (Linux `tcp_min_snd_mss`).
const SMALLEST_MSS: u32 = 48;

/// The largest shift of windows (RFC 7323, section 2.3).
pub(crate) const LARGEST_SHIFT: u8 = 14;

/// What both sides agreed on in their SYNs. A shift is at most [`LARGEST_SHIFT`], and 0 without scaling.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Negotiated {
    /// Shift of the windows that we receive.
    peer_shift: u8,
    /// Shift of the windows that we send.
    our_shift: u8,
    /// Both SYNs had the window scale option.
    scaling: bool,
    timestamps: bool,
    sack: bool,
}

impl Negotiated {
    /// What follows from the options of the peer's SYN. `offered` is the shift of our windows that our SYN
    /// has, if it has one.
    pub(crate) fn from_syn(config: &Config, options: &TcpOptions, offered: Option<u8>) -> Self {
        // Both must offer scaling for either to use it (RFC 7323, section 2.2), and whoever answers
        // an offer does, if only with a shift of 0. A shift above 14 counts as 14.
        let shifts = options.window_scale.map(|shift| shift.min(LARGEST_SHIFT)).zip(offered);
        let (peer_shift, our_shift) = shifts.unwrap_or_default();
        Self {
            peer_shift,
            our_shift,
            scaling: shifts.is_some(),
            timestamps: config.timestamps && options.timestamps.is_some(),
            sack: config.sack && options.sack_permitted,
        }
    }

    /// What two ends agree on that know each other's configuration. Windows are scaled in any case.
    pub(crate) fn from_configs(ours: &Config, peers: &Config) -> Self {
        Self {
            peer_shift: shift(peers),
            our_shift: shift(ours),
            scaling: true,
            timestamps: ours.timestamps && peers.timestamps,
            sack: ours.sack && peers.sack,
        }
    }

    pub(crate) const fn is_sound(self) -> bool {
        self.our_shift <= LARGEST_SHIFT && self.peer_shift <= LARGEST_SHIFT
    }

    pub(crate) const fn our_shift(self) -> u8 {
        self.our_shift
    }

    pub(crate) const fn peer_shift(self) -> u8 {
        self.peer_shift
    }

    pub(crate) const fn scaling(self) -> bool {
        self.scaling
    }

    pub(crate) const fn timestamps(self) -> bool {
        self.timestamps
    }

    pub(crate) const fn sack(self) -> bool {
        self.sack
    }

    /// Octets of the options that every segment has.
    pub(crate) const fn fixed_options(self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }

    /// SACK blocks that there is room for beside the other options.
    pub(crate) const fn most_sack_blocks(self) -> usize {
        if self.timestamps { 3 } else { 4 }
    }

    /// The shift of our windows in a SYN that answers one.
    pub(crate) fn answered_shift(self) -> Option<u8> {
        self.scaling.then_some(self.our_shift)
    }
}

/// The shift that our windows need.
pub(crate) fn shift(config: &Config) -> u8 {
    window_shift(config.largest_window())
}

/// The shift that our SYN offers, if it opens the connection: none where our windows need none.
pub(crate) fn offered_shift(config: &Config) -> Option<u8> {
    Some(shift(config)).filter(|shift| *shift > 0)
}

/// The largest segment that the peer takes, by the options of its SYN.
///
//= RFC 9293, section 3.7.1: "If an MSS Option is not received at connection setup, TCP implementations MUST assume a
//= default send MSS of 536".
pub(crate) fn peer_mss(options: &TcpOptions) -> u32 {
    options.maximum_segment_size.map_or(536, u32::from).max(SMALLEST_MSS)
}
