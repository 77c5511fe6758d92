//! The ACK owed to the other end of the hop, as a value.

use std::time::Duration;

use lasthop_agent::ImportError;
use lasthop_hop::transfer::Away;
use lasthop_packet::{FlowKey, Instant, Packet, PacketRecord, Seq};
use serde::{Deserialize, Serialize};

use super::{Passed, Receiving};

/// The maximum time for which an imported ACK is owed.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A [`Receiving`] as a value.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::lle) struct SavedReceiving {
    is_offered: bool,
    acknowledged: Option<Seq>,
    promised: Option<Seq>,
    promised_last: Option<Seq>,
    passed: Option<Passed>,
    owed: Option<PacketRecord>,
    owed_until: Option<Away>,
    next_passes: bool,
    is_requested: bool,
    segment: u32,
}

impl Receiving {
    pub(in crate::lle) fn save(&self, now: Instant) -> SavedReceiving {
        SavedReceiving {
            is_offered: self.is_offered,
            acknowledged: self.acknowledged,
            promised: self.promised,
            promised_last: self.promised_last,
            passed: self.passed,
            owed: self.owed.as_ref().map(PacketRecord::from),
            owed_until: self.owed_until.map(|until| Away::from(until, now)),
            next_passes: self.next_passes,
            is_requested: self.is_requested,
            segment: self.segment,
        }
    }
}

impl SavedReceiving {
    pub(in crate::lle) fn restore(self, connection: FlowKey, now: Instant) -> Result<Receiving, ImportError> {
        let owed = self.owed.map(Packet::try_from).transpose();
        let owed = owed.map_err(|_| ImportError::Malformed("a packet does not parse"))?;
        let is_ack = |packet: &Packet| packet.flow_key() == Some(connection) && packet.payload().is_empty();
        if owed.as_ref().is_some_and(|owed| !is_ack(owed)) {
            return Err(ImportError::Malformed("a packet that is owed is not an ACK of the connection"));
        }
        Ok(Receiving {
            is_offered: self.is_offered,
            acknowledged: self.acknowledged,
            promised: self.promised,
            promised_last: self.promised_last,
            has_unanswered: false,
            advanced_at: None,
            passed: self.passed,
            owed_until: owed
                .as_ref()
                .map(|_| self.owed_until.map_or(now, |until| until.to(now).min(now + MAX_WAIT))),
            owed,
            next_passes: self.next_passes,
            is_requested: self.is_requested,
            segment: self.segment.min(u32::from(u16::MAX)),
        })
    }
}
