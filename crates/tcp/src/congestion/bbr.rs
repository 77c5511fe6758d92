//! BBR: adapts to the bandwidth of the path and its minimum round-trip time, not to losses
//! (Cardwell et al., "BBR: congestion-based congestion control", ACM Queue 14(5), 2016).
//!
//! | file | what |
//! |---|---|
//! | `v1` | [`Bbr`]: version 1, as in Linux 6.18 |
//! | `v3` | [`Bbr3`]: version 3 (draft-ietf-ccwg-bbr) |
//! | `rate` | octets, times and rates |
//! | `rounds` | round trips counted by packets |
//! | `windowed_max` | recent maximum of a value |
//! | `full_pipe` | whether the bandwidth still grows |
//! | `aggregation` | octets that ACKs deliver in excess of the bandwidth |
//! | `probe_rtt_hold` | how long the window is small for a round-trip time without queue |
//! | `pacing_rate` | the pacing rate |
//! | `dice` | random numbers, the same in each run |

mod aggregation;
mod dice;
mod full_pipe;
mod pacing_rate;
mod probe_rtt_hold;
mod rate;
mod rounds;
mod v1;
mod v3;
mod windowed_max;

pub use v1::Bbr;
pub use v3::Bbr3;

#[cfg(test)]
mod tests;
