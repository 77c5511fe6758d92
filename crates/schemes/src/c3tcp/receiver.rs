//! The congestion control module beside a receiver: what its ACKs echo (section 4.4.4).

use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

use super::options::Forward;

/// Of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Echo {
    /// What came with the latest data, which ends here; `None` for data that came without.
    latest: Option<(Seq, Option<Forward>)>,
    /// What came with the last data that was acknowledged.
    acknowledged: Option<Forward>,
}

impl Echo {
    /// Data has come, up to `end`.
    pub(super) fn note_data(&mut self, end: Seq, found: Option<Forward>) {
        self.latest = Some((end, found.filter(|found| found.bandwidth < u32::MAX)));
    }

    /// What an ACK with this number echoes.
    pub(super) fn of_ack(&mut self, ack: Seq) -> Option<Forward> {
        if let Some((_, found)) = self.latest.filter(|(end, _)| !end.after(ack)) {
            self.acknowledged = found;
            self.latest = None;
        }
        self.acknowledged
    }

    /// Whether it could have come from frames.
    pub(super) fn is_possible(&self) -> bool {
        let latest = self.latest.and_then(|(_, found)| found);
        [latest, self.acknowledged].into_iter().flatten().all(|found| found.bandwidth > 0)
    }
}
