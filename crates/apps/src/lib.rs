//! Applications, the traffic that they generate, and measurements at the receiver. All are pure
//! state machines: data and packets are passed in and out, and the caller owns hosts and
//! connections.
//!
//! | module | contents |
//! |---|---|
//! | [`traffic`] | sources: when a flow sends, and how much |
//! | [`datagrams`] | a flow over UDP: numbered datagrams, and the receiver's statistics |
//! | [`session`] | dialogues between two hosts over connections |
//! | [`media`] | RTP streams between two hosts, with RTCP reports |
//! | [`mos`] | the quality of speech: the E-model |
//! | [`durations`] | statistics of durations, with a histogram |
//! | [`measured`] | the period over which a goodput is measured |
//! | [`heavy_tails`] | random numbers with heavy tails |

pub mod datagrams;
pub mod durations;
pub mod heavy_tails;
pub mod measured;
pub mod media;
pub mod mos;
pub mod session;
pub mod traffic;
