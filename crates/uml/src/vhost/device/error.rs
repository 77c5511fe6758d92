//! What a guest may not do with a device.

use crate::memory::MemoryError;
use crate::ring::RingError;

/// A guest that sets up or uses a device as it may not.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// Features that were not offered, or without those that are needed.
    #[error("features {features:#x}; offered are {offered:#x}, needed are {needed:#x}")]
    Features {
        /// What the driver has chosen.
        features: u64,
        /// What it may choose.
        offered: u64,
        /// What it must choose.
        needed: u64,
    },
    /// A queue that the device does not have.
    #[error("queue {0}, which the device does not have")]
    Queue(u32),
    /// A queue was changed while it was enabled, or enabled before it was set up.
    #[error("queue {0} is enabled before it has addresses, or changed while it is enabled")]
    Order(u32),
    /// A wrong memory table.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A wrong ring.
    #[error(transparent)]
    Ring(#[from] RingError),
}
