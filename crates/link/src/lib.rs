//! Common parts of links of all kinds. The crate knows packets, time and random numbers.
//!
//! | module | what is in it |
//! |---|---|
//! | [`upcoming`] | [`Upcoming`], the queue of events to come |
//! | [`limit`] | [`QueueLimit`], the bound of a queue |
//! | [`fifo`] | [`Fifo`]: packets first in, first out, and their octets |
//! | [`fair`] | [`FairQueue`]: flows that take turns, octet for octet |
//! | `tournament` | the largest of many keys that change |

pub mod fair;
pub mod fifo;
pub mod limit;
mod tournament;
pub mod upcoming;

pub use fair::FairQueue;
pub use fifo::{Fifo, Length};
pub use limit::QueueLimit;
pub use upcoming::{Due, Upcoming};
