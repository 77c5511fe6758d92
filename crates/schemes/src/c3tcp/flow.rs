//! The state of a connection, of constant size.

use lasthop_hop::handshake::Scale;
use lasthop_packet::{Packet, Seq};

use super::receiver::Echo;
use super::window::PathWindow;

/// A connection with an end here, from its handshake on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    /// The initial sequence number of the SYN that opened it.
    pub(super) opening: Option<Seq>,
    pub(super) core_scale: Scale,
    pub(super) radio_scale: Scale,
    /// Octets of the longest segment that came from the core side; 0 before the first.
    pub(super) segment: u32,
    /// The echo for data from the radio side.
    pub(super) echo: Echo,
    /// The path of data to the radio side.
    pub(super) path: PathWindow,
}

impl Flow {
    pub(super) fn on_syn_from_core(&mut self, syn: &Packet) {
        self.core_scale.record(syn, self.radio_scale, self.opening);
    }

    pub(super) fn on_syn_from_radio(&mut self, syn: &Packet) {
        self.radio_scale.record(syn, self.core_scale, self.opening);
    }

    /// The window scale of the host on the radio side, once both SYNs were seen.
    pub(super) const fn radio_shift(&self) -> Option<u8> {
        self.radio_scale.with(self.core_scale)
    }
}
