//! DDA, delayed duplicate ACKs.
mod agent;
mod flow;
mod scheme;
mod settings;
#[cfg(test)]
mod tests;
mod transfer;

pub use agent::Dda;
pub use scheme::SCHEME;
pub use settings::{DdaSeat, Settings};
