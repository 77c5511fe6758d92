//! What a station has of the air.

/// What a station has had of the air so far, frames of its own not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Frames that were delivered, or given up.
    pub frames: u64,
    /// Their transmissions.
    pub transmissions: u64,
    /// Of the frames, those that were given up.
    pub given_up: u64,
    /// Nanoseconds of its frames for them.
    pub air_time: u64,
    /// Nanoseconds that they were at the head of its queue before their first transmission.
    pub access: u64,
}

impl Used {
    /// The sum of both.
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            frames: self.frames + other.frames,
            transmissions: self.transmissions + other.transmissions,
            given_up: self.given_up + other.given_up,
            air_time: self.air_time + other.air_time,
            access: self.access + other.access,
        }
    }
}
