//! What the parts of a state share when they are read: where their packets go, and how far their
//! counts are believed.

use lasthop_agent::{Context, ImportError};
use lasthop_hop::transfer::segment;
use lasthop_packet::{FlowKey, Packet, PacketRecord};

/// Counts that come from elsewhere are cut to this: more would change nothing.
pub(super) const MOST_COUNTED: u32 = 1 << 16;

/// Where the packets of a state go: all of one connection, as long as there is room.
pub(super) struct Restoring<'a, 'b> {
    pub(super) connection: FlowKey,
    /// Memory that may still be taken.
    left: usize,
    cx: &'a Context<'b>,
}

impl<'a, 'b> Restoring<'a, 'b> {
    /// Of a connection that may take so much memory.
    pub(super) const fn new(connection: FlowKey, left: usize, cx: &'a Context<'b>) -> Self {
        Self { connection, left, cx }
    }

    /// A segment of the connection, if it is one and there is room. `cost` is what it takes.
    pub(super) fn segment(
        &mut self,
        record: PacketRecord,
        cost: impl FnOnce(&Packet) -> usize,
    ) -> Result<Packet, ImportError> {
        let packet = segment(record, self.connection, self.cx)?;
        let cost = cost(&packet);
        // What was acknowledged must not be lost: rather all of it stays where it was.
        self.left = self.left.checked_sub(cost).ok_or(ImportError::NoRoom("octets"))?;
        Ok(packet)
    }
}
