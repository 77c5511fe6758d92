//! The congestion control module beside a receiver: what its ACKs echo (section 4.4.4).

use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

use super::options::Forward;

/// Of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Echo {
    /// What came with the latest data, which ends here.
    latest: Option<(Seq, Forward)>,
    /// What came with the last data that was acknowledged.
    acknowledged: Option<Forward>,
}

impl Echo {
    /// Data has come, up to `end`.
    pub(super) fn note_data(&mut self, end: Seq, found: Forward) {
        if found.bandwidth < u32::MAX {
            self.latest = Some((end, found));
        }
    }

    /// What an ACK with this number echoes.
    pub(super) fn of_ack(&mut self, ack: Seq) -> Option<Forward> {
        if let Some((_, found)) = self.latest.filter(|(end, _)| !end.after(ack)) {
            self.acknowledged = Some(found);
            self.latest = None;
        }
        self.acknowledged
    }
    /// Whether it could have come from frames.
    pub(super) fn is_possible(&self) -> bool {
        let told = self.latest.map(|(_, found)| found).into_iter().chain(self.acknowledged);
        told.into_iter().all(|found| found.bandwidth > 0)
    }
}
