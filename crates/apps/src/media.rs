//! RTP streams between two hosts, with their reports (RFC 3550): the calls and videos of sessions.
//!
//! | module | what is in it |
//! |---|---|
//! | `stream` | one direction: numbered packets, and what the receiver makes of them |
//! | `playout` | what comes too late to be played |
//! | `participant` | one end's reports |
//! | `quality` | what speech was worth |
//! | [`call`] | streams and reports of two sides, whatever carries them |
//!
//! Packets have the octets of real RTP and RTCP headers, so that an agent can read them. What an
//! application measures, it measures of what arrives.

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
