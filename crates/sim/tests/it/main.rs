//! Rules of the simulator, by subject.

mod agents;
mod formulas;
mod links;
mod memory;
mod outside;
mod radio;
mod random;
mod reconfigure;
mod support;
mod wlan;
