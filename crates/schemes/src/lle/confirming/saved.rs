//! The data acknowledged in the receiver's name, as a value.

use lasthop_agent::ImportError;
use lasthop_hop::transfer::Away;
use lasthop_packet::{Instant, PacketRecord, Seq};
use serde::{Deserialize, Serialize};

use super::{Confirming, Progress, SegmentNotes};
use crate::lle::delaying::{Delaying, SavedDelaying};
use crate::lle::ranges::Ranges;
use crate::lle::restoring::{MAX_COUNT, Restoring};

/// A [`Confirming`] as a value.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::lle) struct SavedConfirming {
    progress: Option<Progress>,
    above: Ranges,
    plain: Option<Seq>,
    generated: Option<Seq>,
    requested: Option<Seq>,
    kept: Vec<(PacketRecord, Option<Away>)>,
    echo: Option<u32>,
    segment: u32,
    delaying: Option<SavedDelaying>,
    filled_at: Option<Away>,
    duplicates: u32,
    advanced_at: Away,
    silent_since: Away,
    repairs: u32,
    complaint: Option<(Seq, Option<Away>)>,
}

impl Confirming {
    pub(in crate::lle) fn save(&self, now: Instant) -> SavedConfirming {
        let away = |at: Instant| Away::from(at, now);
        let kept = self.kept.iter();
        let kept =
            kept.map(|kept| (PacketRecord::from(&kept.packet), kept.notes.repaired.map(away))).collect();
        SavedConfirming {
            progress: self.progress,
            above: self.above,
            plain: self.plain,
            generated: self.generated,
            requested: self.requested,
            kept,
            echo: self.echo,
            segment: self.segment,
            delaying: self.delaying.save(now),
            filled_at: self.filled_at.map(away),
            duplicates: self.duplicates,
            advanced_at: away(self.advanced_at),
            silent_since: away(self.silent_since),
            repairs: self.repairs,
            complaint: self.complaint.map(|(seq, since)| (seq, since.map(away))),
        }
    }
}

impl SavedConfirming {
    pub(in crate::lle) fn restore(
        self,
        restoring: &mut Restoring<'_, '_>,
        now: Instant,
    ) -> Result<Confirming, ImportError> {
        let past = |away: Away| away.to(now).min(now);
        let mut kept = Confirming::new().kept;
        for (record, repaired) in self.kept {
            let packet = restoring.segment(record, |packet| kept.cost_of(packet.sizes()))?;
            kept.insert(&packet, packet.sizes(), SegmentNotes { repaired: repaired.map(past) });
        }
        Ok(Confirming {
            progress: self.progress,
            above: self.above.bounded(),
            plain: self.plain,
            generated: self.generated,
            requested: self.requested,
            kept,
            echo: self.echo,
            segment: self.segment.min(u32::from(u16::MAX)),
            delaying: self.delaying.map_or(Delaying::NONE, |delaying| delaying.restore(now)),
            filled_at: self.filled_at.map(past),
            duplicates: self.duplicates.min(MAX_COUNT),
            advanced_at: past(self.advanced_at),
            silent_since: past(self.silent_since),
            repairs: self.repairs.min(MAX_COUNT),
            // Whether a run is lost is determined again.
            copied_to: None,
            only_copies: 0,
            complaint: self.complaint.map(|(seq, since)| (seq, since.map(past))),
        })
    }
}
