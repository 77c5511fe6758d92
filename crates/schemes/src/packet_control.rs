//! TCP packet control.

mod ack_filter;
mod agent;
mod data_filter;
mod flow;
mod lateness;
mod plain_ack;
mod repetitions;
mod reports;
mod scheme;
mod settings;
mod thinning;
mod transfer;

pub use agent::{OLD_ACK, PacketControl, REPEATED_DATA};
pub use scheme::SCHEME;
pub use settings::{Settings, Withholding};

#[cfg(test)]
mod tests;
