//! What a station has of the air.

/// What a station has had of the air so far, frames of its own not counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    /// Frames that were delivered, or given up.
    pub(crate) frames: u64,
    /// Their transmissions.
    pub(crate) transmissions: u64,
    /// Of the frames, those that were given up.
    pub(crate) given_up: u64,
    /// Nanoseconds of its frames for them.
    pub(crate) air_time: u64,
    /// Nanoseconds that they were at the head of its queue before their first transmission.
    pub(crate) access: u64,
}
