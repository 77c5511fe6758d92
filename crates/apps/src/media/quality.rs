//! The quality of received speech.

use std::time::Duration;

use crate::mos::{opinion, rating};
use crate::traffic::Voice;

/// The quality of one direction of a call: see [`crate::mos`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallQuality {
    /// The mouth-to-ear delay, in seconds: packetization and coding, the network's shortest delay,
    /// and the playout buffer. `None` if all packets were lost.
    pub mouth_to_ear_s: Option<f64>,
    /// The rating R of the E-model, 0 to 93.2.
    pub rating: f64,
    /// The mean opinion score, 1 to 4.5.
    pub mos: f64,
}

impl CallQuality {
    /// Computes the quality. `lost_percent` is the percentage of packets that were not played, of
    /// those that are not in transit; `network_s` is the shortest network delay in seconds. If no
    /// packet arrived, only the loss counts.
    pub(super) fn new(voice: &Voice, network_s: Option<f64>, buffer: Duration, lost_percent: f64) -> Self {
        let at_the_ends_s = (voice.coding_delay() + buffer).as_secs_f64();
        let mouth_to_ear_s = network_s.map(|network_s| at_the_ends_s + network_s);
        let rating = rating(voice.codec.robustness(), mouth_to_ear_s.unwrap_or(0.0), lost_percent);
        Self { mouth_to_ear_s, rating, mos: opinion(rating) }
    }
}
