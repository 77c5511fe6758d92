//! The part of a job that is outside the guest.

use serde::de::DeserializeOwned;

use super::control::Output;

/// What a guest says beside its job, and who takes it.
pub(super) trait Task {
    /// What the guest reports at the end of the run.
    type Report: DeserializeOwned;

    /// Takes what a program of the guest has printed. It may wait: the guest's time stands still meanwhile. Returns what ends
    /// the run at once.
    fn print(&mut self, output: Output, octets: &[u8]) -> Option<Result<Self::Report, String>>;

    /// The next octets of standard input, at most as many as fit into a datagram; none at its end. It may wait as well.
    fn input(&mut self) -> Result<Vec<u8>, String>;
}
