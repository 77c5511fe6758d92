//! Floor 4: runs, comparisons, sweeps, paper reproductions.

pub mod goel;
