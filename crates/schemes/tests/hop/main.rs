//! Invariants of every agent in the catalog, over a hop between hosts.

mod asymmetric;
mod one_address;
mod signed;
mod world;
