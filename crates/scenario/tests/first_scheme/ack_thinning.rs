//! ACK thinning: of two ACKs in a row that say nothing but "more has arrived", only the second
//! crosses the hop.

mod agent;
mod scheme;
mod settings;

pub use scheme::SCHEME;
