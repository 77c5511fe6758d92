//! The data acknowledged to a local TCP, as a value.

use std::time::Duration;

use lasthop_agent::{ImportError, SegmentCache};
use lasthop_hop::transfer::Away;
use lasthop_packet::{Instant, PacketRecord, Seq};
use serde::{Deserialize, Serialize};

use super::{Control, MAX_TIMEOUT, Stored};
use crate::lle::ranges::Ranges;
use crate::lle::restoring::{MAX_COUNT, Restoring};

/// A [`Control`] as a value.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::lle) struct SavedControl {
    /// Each with the time when it was sent, and whether that was only once.
    buffer: Vec<(PacketRecord, Away, bool)>,
    acknowledged: Option<Seq>,
    above: Ranges,
    is_frozen: bool,
    echo: Option<u32>,
    segment: u32,
    duplicates: u32,
    recover: Option<Seq>,
    smoothed: Option<(Duration, Duration)>,
    expiries: u32,
    waiting_since: Away,
}

impl Control {
    pub(in crate::lle) fn save(&self, now: Instant) -> SavedControl {
        let buffer = self.buffer.iter().map(|stored| {
            let Stored { sent_at, is_timed } = stored.notes;
            (PacketRecord::from(&stored.packet), Away::from(sent_at, now), is_timed)
        });
        SavedControl {
            buffer: buffer.collect(),
            acknowledged: self.acknowledged,
            above: self.above,
            is_frozen: self.is_frozen,
            echo: self.echo,
            segment: self.segment,
            duplicates: self.duplicates,
            recover: self.recover,
            smoothed: self.smoothed,
            expiries: self.expiries,
            waiting_since: Away::from(self.waiting_since, now),
        }
    }
}

impl SavedControl {
    /// `room` is the maximum of the buffer by the local settings.
    pub(in crate::lle) fn restore(
        self,
        room: usize,
        restoring: &mut Restoring<'_, '_>,
        now: Instant,
    ) -> Result<Control, ImportError> {
        let past = |away: Away| away.to(now).min(now);
        let mut buffer = SegmentCache::new(usize::MAX);
        for (record, sent_at, is_timed) in self.buffer {
            let packet = restoring.segment(record, |packet| buffer.cost_of(packet.sizes()))?;
            buffer.insert(&packet, packet.sizes(), Stored { sent_at: past(sent_at), is_timed });
        }
        let bounded = |time: Duration| time.min(MAX_TIMEOUT);
        Ok(Control {
            buffer,
            room,
            acknowledged: self.acknowledged,
            above: self.above.bounded(),
            is_frozen: self.is_frozen,
            echo: self.echo,
            segment: self.segment.min(u32::from(u16::MAX)),
            duplicates: self.duplicates.min(MAX_COUNT),
            recover: self.recover,
            smoothed: self.smoothed.map(|(mean, deviation)| (bounded(mean), bounded(deviation))),
            expiries: self.expiries.min(MAX_COUNT),
            waiting_since: past(self.waiting_since),
        })
    }
}
