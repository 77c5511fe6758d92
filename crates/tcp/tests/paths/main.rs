//! Whole flows over a path of two hops, against what papers say of them.

mod bbr;
mod controls;
mod fall_floyd;
mod linux_receiver;
mod path;
mod segmentation_offload;
