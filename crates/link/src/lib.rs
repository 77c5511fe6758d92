//! What links of every kind are made of. It knows packets, time and random numbers.
//!
//! | module | what is in it |
//! |---|---|
//! | [`upcoming`] | [`Upcoming`], the queue of events to come |
//! | [`channel`] | [`Channel`]: two states, in each of which transmissions are lost with a probability |
//! | [`limit`] | [`QueueLimit`], how much may wait |
//! | [`fifo`] | [`Fifo`]: packets first in, first out, and their octets |
//! | [`fair`] | [`FairQueue`]: flows that take turns, octet for octet |
//! | `tournament` | the largest of many keys that change |

pub mod channel;
pub mod fair;
pub mod fifo;
pub mod limit;
mod tournament;
pub mod upcoming;

pub use channel::{Channel, ChannelConfig, Flip, ForcedLoss, Sojourn, StateSource, StateTrace};
pub use fair::FairQueue;
pub use fifo::{Fifo, Length};
pub use limit::QueueLimit;
pub use upcoming::{Due, Upcoming};
