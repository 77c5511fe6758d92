//! Tests of the registry from outside.

mod damage;
mod kills;
mod memory;
mod process;
mod races;
mod rules;
mod simulated_disk;
mod steps;
