//! Rules of 802.11, by subject.

mod access;
mod air_times;
mod block_ack;
mod capture;
mod carrier_sense;
mod durations;
mod errors;
mod moving;
mod one_sender;
mod options;
mod own_frames;
mod propagation;
mod properties;
mod raw;
mod refusing;
mod settling;
mod support;
mod topologies;
mod traces;
mod tuning;
mod txop;

pub(crate) use support::{AIR, OnAir};
