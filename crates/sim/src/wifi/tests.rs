//! Rules of 802.11, by subject.

mod access;
mod air_times;
mod carrier_sense;
mod errors;
mod moving;
mod properties;
mod support;
mod topologies;
mod traces;
