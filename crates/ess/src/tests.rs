//! Clients and access points together, over an air that loses frames.

mod air;
mod properties;
mod scripts;
