//! What the parts of an imported state share: where their packets go, and the limit of their
//! counts.

use lasthop_agent::{Context, ImportError};
use lasthop_hop::transfer::segment;
use lasthop_packet::{FlowKey, Packet, PacketRecord};

/// Imported counts are limited to this: more would change nothing.
pub(super) const MAX_COUNT: u32 = 1 << 16;

/// The destination of a state's packets: all of one connection, while there is room.
pub(super) struct Restoring<'a, 'b> {
    pub(super) connection: FlowKey,
    /// The remaining memory.
    left: usize,
    cx: &'a Context<'b>,
}

impl<'a, 'b> Restoring<'a, 'b> {
    /// For a connection that may take `left` octets of memory.
    pub(super) const fn new(connection: FlowKey, left: usize, cx: &'a Context<'b>) -> Self {
        Self { connection, left, cx }
    }

    /// A segment of the connection, if it is one and there is room. `cost` is its memory.
    pub(super) fn segment(
        &mut self,
        record: PacketRecord,
        cost: impl FnOnce(&Packet) -> usize,
    ) -> Result<Packet, ImportError> {
        let packet = segment(record, self.connection, self.cx)?;
        let cost = cost(&packet);
        // Acknowledged data must not be lost: without room the whole state stays where it was.
        self.left = self.left.checked_sub(cost).ok_or(ImportError::NoRoom("octets"))?;
        Ok(packet)
    }
}
