//! Tests of the registry from outside.

#[path = "../suite/behaviour.rs"]
mod behaviour;
mod damage;
mod kills;
mod memory;
mod process;
mod races;
mod rules;
mod served;
mod simulated_disk;
mod steps;
