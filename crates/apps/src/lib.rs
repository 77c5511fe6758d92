//! Applications, what they have to send, and what becomes of it. Pure state machines: data
//! and packets go in and come out; the caller has the hosts and the connections.
//!
//! | module | what is in it |
//! |---|---|
//! | [`traffic`] | what a flow has to send, and when |
//! | [`datagrams`] | a flow over UDP: numbered datagrams, and what the receiver makes of them |
//! | [`session`] | what two hosts say to each other: dialogues over connections |
//! | [`media`] | RTP streams between two hosts, with their reports |
//! | [`mos`] | what speech is worth to a listener |
//! | [`durations`] | times in a histogram |
//! | [`measured`] | the time over which a goodput counts |
//! | [`heavy_tails`] | random numbers with heavy tails |

pub mod datagrams;
pub mod durations;
pub mod heavy_tails;
pub mod measured;
pub mod media;
pub mod mos;
pub mod session;
pub mod traffic;
