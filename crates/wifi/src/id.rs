//! Names of stations.

/// A station of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub(crate) u32);

impl StationId {
    /// The station with this index in the order of addition, from 0.
    pub const fn from_index(index: usize) -> Self {
        Self(index as u32)
    }

    /// The index in the order of addition, from 0.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
