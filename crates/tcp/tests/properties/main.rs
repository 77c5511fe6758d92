//! Properties that hold whatever the network does.

mod channel;
mod noise;
