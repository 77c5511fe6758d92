//! The 1997 thesis's experiments.

pub mod network;
