//! The data files of the 1997 thesis's simulator.

pub use lasthop_thesis::{DataFile, EventKinds, read};
