//! Complete flows over a path of two hops, compared with the results of papers.

mod bbr;
mod controls;
mod fall_floyd;
mod linux_receiver;
mod path;
mod segmentation_offload;
