//! RTP streams between two hosts, with RTCP reports (RFC 3550): the calls and videos of sessions.
//!
//! | module | contents |
//! |---|---|
//! | `stream` | one direction: numbered packets, and the receiver's statistics |
//! | `playout` | the playout buffer, and packets that arrive too late for it |
//! | `participant` | the reports of one end |
//! | `quality` | the quality of speech |
//! | [`call`] | streams and reports of two sides, over any transport |
//!
//! Packets have the octets of real RTP and RTCP headers, so that an agent can read them.
//! Applications measure only the packets that arrive.

pub mod call;
mod participant;
mod playout;
mod quality;
mod stream;

pub use call::CallSoFar;
pub use call::{Call, CallOutcome};
pub use playout::Playout;
pub use quality::CallQuality;
pub use stream::{Arrival, Outgoing, StreamOutcome};
