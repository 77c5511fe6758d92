//! The options in the SYNs of a connection.

use lasthop_packet::TcpOptions;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::receive::window_shift;

/// The minimum segment size, even if the peer requests less: with tiny segments it could multiply our
/// packets and the state for each of them (Linux `tcp_min_snd_mss`).
const SMALLEST_MSS: u32 = 48;

/// The largest shift of windows (RFC 7323, section 2.3).
pub(crate) const LARGEST_SHIFT: u8 = 14;

/// The negotiated options. A shift is at most [`LARGEST_SHIFT`], and 0 without scaling.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Negotiated {
    /// Shift of the received windows.
    pub(crate) peer_shift: u8,
    /// Shift of the sent windows.
    pub(crate) our_shift: u8,
    /// Both SYNs had the window scale option.
    pub(crate) scaling: bool,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
}

impl Negotiated {
    /// The result of the options in the peer's SYN. `offered` is the window shift in our SYN, if any.
    pub(crate) fn from_syn(config: &Config, options: &TcpOptions, offered: Option<u8>) -> Self {
        // Both must offer scaling for either to use it (RFC 7323, section 2.2); an offer is answered,
        // even if with a shift of 0. A shift above 14 counts as 14.
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

    /// The result of two configurations, without a handshake. Windows are scaled in any case.
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

    /// Octets of the options in every segment.
    pub(crate) const fn fixed_options(self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }

    /// Maximum number of SACK blocks beside the other options.
    pub(crate) const fn max_sack_blocks(self) -> usize {
        if self.timestamps { 3 } else { 4 }
    }

    /// The window shift in our SYN-ACK.
    pub(crate) fn answered_shift(self) -> Option<u8> {
        self.scaling.then_some(self.our_shift)
    }
}

/// The shift required by our windows.
pub(crate) fn shift(config: &Config) -> u8 {
    window_shift(config.largest_window())
}

/// The shift offered in an active open, if our windows need one.
pub(crate) fn offered_shift(config: &Config) -> Option<u8> {
    Some(shift(config)).filter(|shift| *shift > 0)
}

/// The largest segment that the peer accepts, by the options of its SYN.
///
//= RFC 9293, section 3.7.1: "If an MSS Option is not received at connection setup, TCP implementations MUST assume a
//= default send MSS of 536".
pub(crate) fn peer_mss(options: &TcpOptions) -> u32 {
    options.maximum_segment_size.map_or(536, u32::from).max(SMALLEST_MSS)
}
