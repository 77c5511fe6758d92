//! The time socket: the messages between a guest that was started with `time-travel=ext` and its calendar
//! (`include/uapi/linux/um_timetravel.h`), and what they mean.
//!
//! The receiver of a message answers it with [`Operation::Ack`] and the same sequence number.

mod message;
mod schedule;
mod turn;

pub use message::{LENGTH, Message, Operation, UnknownOperation};
pub use schedule::{Client, Schedule};
pub use turn::{Received, Request, Turn, TurnError};
