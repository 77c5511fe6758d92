//! Rules of 802.11, by subject.

mod access;
mod air_times;
mod errors;
mod support;
mod topologies;
mod traces;
