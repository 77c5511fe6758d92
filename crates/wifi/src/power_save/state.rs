//! The state of a cell with power save.

use super::buffer::Buffer;
use super::config::PowerSaveConfig;
use super::sleeper::Sleeper;

/// A cell with power save.
#[derive(Debug)]
pub(crate) struct PowerSave {
    pub(super) config: PowerSaveConfig,
    /// Nanoseconds.
    pub(super) beacon_interval: u64,
    pub(super) access_point: u32,
    /// TBTTs so far.
    pub(super) beacons: u64,
    /// What the latest beacon said, apart from the TIM's bits of stations.
    pub(super) announced: Announced,
    /// The More Data field of the frame that the access point is sending.
    pub(super) more_data: bool,
    /// By station; the access point's own never changes.
    pub(super) sleepers: Vec<Sleeper>,
    /// Frames for each station, by station.
    pub(super) buffers: Vec<Buffer>,
    /// Group frames that wait for a DTIM.
    pub(super) group: Buffer,
    /// Group frames that were moved into the access point's queue after a DTIM and are not yet sent.
    pub(super) group_left: u32,
    /// Packets and octets in all buffers.
    pub(super) waiting: (usize, u64),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Announced {
    pub(super) is_dtim: bool,
    /// Group frames follow.
    pub(super) group: bool,
}
