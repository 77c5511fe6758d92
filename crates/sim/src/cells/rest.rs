//! What follows from a frame's fate, step by step.

use lasthop_wifi::{Fate, MacFrame, StationId};

use crate::observe::Interest;

/// Interests of observers who hear what becomes of frames that arrive.
pub(super) const OF_FATES: Interest = Interest::FATES.union(Interest::FRAMES);

/// Between two of these the world carries out what came of the first.
#[derive(Clone, Copy)]
pub(super) enum Rest {
    /// The frame was given up: its receiver may be out of reach.
    GivenUp,
    /// Its station is through with it.
    Ended,
    /// The next frame is at the head of the station's queue.
    Next,
    /// Frames to the same receiver could take another way.
    Broken,
}

/// A frame whose fate is told.
#[derive(Clone, Copy)]
pub(super) struct SentFrame {
    pub(super) from: StationId,
    pub(super) frame: MacFrame,
    pub(super) fate: Fate,
    pub(super) transmissions: u32,
}
