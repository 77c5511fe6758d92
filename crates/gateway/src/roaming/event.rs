//! What happens to hand-offs: the inputs of their thread.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::Sender;

use super::outside::RegistryAnswer;
use super::report::RoamingReport;
use crate::frame::MacAddress;

/// What happens to hand-offs.
pub(super) enum Event {
    Joined { client: MacAddress, from: Option<String> },
    Noticed { client: MacAddress },
    Asked { name: String, is_known: Sender<bool> },
    Left { client: MacAddress },
    Arrived(Vec<MacAddress>),
    Message { from: Arc<str>, octets: Vec<u8>, waiting: Arc<AtomicUsize> },
    Answer { client: MacAddress, number: u64, answer: RegistryAnswer },
    Report(Sender<RoamingReport>),
    End,
}

#[cfg(test)]
impl Event {
    /// The sender and the octets of a message.
    pub(super) fn into_message(self) -> Option<(Arc<str>, Vec<u8>)> {
        match self {
            Self::Message { from, octets, .. } => Some((from, octets)),
            _ => None,
        }
    }
}
