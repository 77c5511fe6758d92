//! What is known of the way to a receiver.

use lasthop_wifi::{Aggregate, StationId, Wlan};

use crate::cells::channels::CellChannels;

/// The links of a station to others.
pub(super) struct Link<'a> {
    wlan: &'a Wlan<CellChannels>,
    from: StationId,
}

impl<'a> Link<'a> {
    pub(super) const fn new(wlan: &'a Wlan<CellChannels>, from: StationId) -> Self {
        Self { wlan, from }
    }

    /// The air time in microseconds that is expected of a packet.
    pub(super) fn expected(&self, to: StationId, octets: u32) -> u32 {
        self.wlan.expected_air_time(self.from, to, octets)
    }

    /// A packet, with which others may go.
    pub(super) fn aggregate(&self, to: StationId, octets: u32) -> Aggregate {
        self.wlan.aggregate(self.from, to, octets)
    }
}
