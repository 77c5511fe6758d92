//! How far a piece of work is; shown by whoever has a screen.

/// Told as runs end. Shared by the threads that do them.
pub trait Progress: Sync {
    /// So many runs are to be done in all.
    fn expect(&self, runs: u64);
    /// One more is done.
    fn advance(&self);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn expect(&self, _runs: u64) {}
    fn advance(&self) {}
}
