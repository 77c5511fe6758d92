//! What is done for data from the mobile host, where anything is.

use lasthop_agent::{Context, Side};
use lasthop_packet::{FlowKey, Packet};

use super::Snoop;

impl Snoop {
    /// Takes note of a packet of either direction, for what the mobile host sends.
    pub(super) fn note_upload(&mut self, packet: &Packet, key: FlowKey, from: Side, cx: &mut Context<'_>) {
        if from == Side::Radio
            && !packet.payload().is_empty()
            && let Some(hop) = self.hops.find(key.destination.0).and_then(|at| self.hops.get_mut(at))
        {
            hop.note_data_back(packet.payload().len(), cx.now());
        }
        if let Some(uplink) = &mut self.uplink {
            uplink.leave_room(self.octets + self.beside - uplink.octets());
            uplink.on_packet(packet, key, from, cx);
            self.charge_tables();
        }
    }

    /// Forgets what is known of an upload.
    pub(super) fn forget_upload(&mut self, key: FlowKey) {
        if let Some(uplink) = &mut self.uplink {
            uplink.forget(key);
            self.charge_tables();
        }
    }
}
