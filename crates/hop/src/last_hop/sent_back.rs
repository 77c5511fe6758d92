//! Data that a mobile host sends in addition to its ACKs.
//!
//! ACKs that queue after an upload's data are late, however little data goes to the host. ACKs that
//! queue after other ACKs come earlier if fewer packets, and thus fewer ACKs, are on the hop.

use std::time::Duration;

use lasthop_packet::Instant;

/// Octets that count as one unit: the minimum size of a segment without data.
const UNIT: usize = 40;

/// Less data than this, in units, is no upload: four segments.
const MIN_UPLOAD: u16 = 4 * 36;

/// Above this sum, in units, both counts are halved: 160 kB.
const MAX_UNITS: u16 = 4096;

/// An upload without data for this long is over.
const PAUSE: Duration = Duration::from_secs(1);

/// The recent ACKs and data of a host, in units.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentBack {
    acks: u16,
    data: u16,
    /// When the last data came.
    data_at: Instant,
}

impl SentBack {
    /// Records an ACK.
    pub(super) fn on_ack(&mut self, now: Instant) {
        if self.data > 0 && now.since(self.data_at) > PAUSE {
            self.data = 0;
        }
        self.acks += 1;
        self.fade();
    }

    /// Records a segment with this much data, in octets.
    pub(super) fn on_data(&mut self, octets: usize, now: Instant) {
        self.data_at = now;
        self.data += octets.div_ceil(UNIT).min(MAX_UNITS.into()) as u16;
        self.fade();
    }

    fn fade(&mut self) {
        if self.acks + self.data > MAX_UNITS {
            (self.acks, self.data) = (self.acks / 2, self.data / 2);
        }
    }

    /// Whether most of what the host sends is data, not ACKs.
    pub(super) const fn is_mostly_data(self) -> bool {
        self.data > MIN_UPLOAD && self.data > 2 * self.acks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_secs(7);

    #[test]
    fn a_host_that_acknowledges_a_download_sends_mostly_acks() {
        let mut sent = SentBack::default();
        for _ in 0..10 {
            sent.on_data(500, NOW);
            assert!(!sent.is_mostly_data());
            for _ in 0..10_000 {
                sent.on_ack(NOW);
            }
        }
        assert!(!sent.is_mostly_data());
    }

    /// 160 kB, and ten ACKs for each segment.
    fn uploading() -> SentBack {
        let mut sent = SentBack::default();
        for _ in 0..110 {
            sent.on_data(1448, NOW);
            for _ in 0..10 {
                sent.on_ack(NOW);
            }
        }
        assert!(sent.is_mostly_data());
        sent
    }

    #[test]
    fn a_host_that_also_uploads_sends_mostly_data_until_it_sends_mostly_acks() {
        let mut sent = uploading();
        for _ in 0..MAX_UNITS {
            sent.on_ack(NOW);
        }
        assert!(!sent.is_mostly_data());
    }

    #[test]
    fn an_upload_without_data_for_more_than_a_second_is_over() {
        let mut sent = uploading();
        sent.on_ack(NOW + PAUSE);
        assert!(sent.is_mostly_data());
        sent.on_ack(NOW + 2 * PAUSE);
        assert!(!sent.is_mostly_data());
    }

    #[test]
    fn super_packets_of_any_length_are_counted() {
        let mut sent = SentBack::default();
        for octets in [0, 1, 65_535, usize::MAX, usize::MAX] {
            sent.on_data(octets, NOW);
        }
        assert!(sent.is_mostly_data());
    }
}
