//! vhost-user: how a guest sets up its virtio devices in this process, over a stream for each.
//!
//! This is the back end's part of the protocol, with what Linux's driver for user mode requests
//! (`arch/um/drivers/virtio_uml.c`). Kicks and interrupts are messages of their own, so that
//! everything has its order.

mod device;
mod device_type;
mod message;

pub use device::{Counts, Device, DeviceError, Interrupt, Outcome};
pub use device_type::{DeviceType, Queues};
pub use message::{HEADER, LONGEST, Message, MessageError, Request, call, done, reply};
