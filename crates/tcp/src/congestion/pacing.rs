//! How fast segments may leave, whatever the window allows.

/// A rate, and how much may leave at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Octets of payload a second; at least 1.
    pub rate: u64,
    /// So many segments may always leave at once.
    pub least_burst: u32,
}
