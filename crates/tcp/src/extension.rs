//! The hooks for schemes in a TCP endpoint: in the sender, in the receiver, or in both.

mod receiver;
mod sender;

pub use receiver::{OutgoingAck, ReceiverControl, ReceiverExtension};
pub use sender::{DuplicateAckResponse, IcmpNotice, SenderControl, SenderExtension, TimeoutResponse};
