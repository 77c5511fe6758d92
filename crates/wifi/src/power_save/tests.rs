//! Rules of power save, by subject.

mod ahead;
mod air_times;
mod delay;
mod energy;
mod keeping;
mod leaving;
mod raw;
mod scripts;
mod settling;
mod support;
