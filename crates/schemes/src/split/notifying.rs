//! Mobile hosts that send hear which of their losses were the hop's: [`crate::eln`] sits between the
//! leg and the hop.

use lasthop_agent::{Agent as _, Context, Side};
use lasthop_packet::Packet;

use super::table::Splits;
use crate::eln::Eln;

impl Splits {
    /// Has the notifier take no more memory than is left.
    pub(super) fn leave_room_to_notifier(&mut self) {
        let taken = self.taken();
        if let Some(notifier) = &mut self.notifier {
            notifier.leave_room(taken - notifier.octets());
        }
    }
}

/// Shows a packet over the hop to the notifier, which drops none.
pub(super) fn pass(notifier: Option<&mut Eln>, packet: &mut Packet, from: Side, cx: &mut Context<'_>) {
    if let Some(notifier) = notifier {
        let _ = notifier.on_packet(packet, from, cx);
    }
}
