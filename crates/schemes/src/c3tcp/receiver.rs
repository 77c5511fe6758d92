//! The congestion control module at a receiver: the echo in its ACKs (section 4.4.4).

use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

use super::options::Forward;

/// The echo of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Echo {
    /// The end of the latest data, and its values, if it had any.
    latest: Option<(Seq, Option<Forward>)>,
    /// The values of the last acknowledged data.
    acknowledged: Option<Forward>,
}

impl Echo {
    /// Records data up to `end`, with its values.
    pub(super) fn record_data(&mut self, end: Seq, found: Option<Forward>) {
        self.latest = Some((end, found.filter(|found| found.bandwidth < u32::MAX)));
    }

    /// The echo of an ACK with this number.
    pub(super) fn of_ack(&mut self, ack: Seq) -> Option<Forward> {
        if let Some((_, found)) = self.latest.filter(|(end, _)| !end.after(ack)) {
            self.acknowledged = found;
            self.latest = None;
        }
        self.acknowledged
    }

    /// Whether imported values could have come from frames.
    pub(super) fn is_possible(&self) -> bool {
        let latest = self.latest.and_then(|(_, found)| found);
        [latest, self.acknowledged].into_iter().flatten().all(|found| found.bandwidth > 0)
    }
}
