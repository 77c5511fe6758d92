//! The rules of AS-TCP, one by one: both halves with a hop between them, and packets by hand.
//!
//! | module | what is in it |
//! |---|---|
//! | `bench` | the halves, the hop, and what leaves at either end |
//! | `acknowledging` | MAC ACKs that become TCP ACKs, and those that must not |
//! | `ends` | handshake, close, reset, probes |
//! | `repairing` | what the MAC has delivered and the split has not got |
//! | `variants` | refusal, ACKs on the air, a split at the router |
//! | `windows` | what an ACK that is made allows |

mod acknowledging;
mod bench;
mod ends;
mod repairing;
mod variants;
mod windows;
