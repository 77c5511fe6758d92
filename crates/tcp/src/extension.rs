//! What a scheme changes in a TCP endpoint: a part of the sender, a part of the receiver, or both.

mod receiver;
mod sender;

pub use receiver::{OutgoingAck, ReceiverControl, ReceiverExtension};
pub use sender::{DuplicateAckResponse, IcmpNotice, SenderControl, SenderExtension, TimeoutResponse};
