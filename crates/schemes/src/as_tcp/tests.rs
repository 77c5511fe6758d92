//! Tests of AS-TCP's rules: both halves with a hop between them, and hand-made packets.
//!
//! | module | contents |
//! |---|---|
//! | `bench` | the halves, the hop, and the packets sent at either end |
//! | `acknowledging` | MAC ACKs that become TCP ACKs, and those that must not |
//! | `ends` | handshake, close, reset, probes |
//! | `repairing` | data that the MAC has delivered and the split has not received |
//! | `variants` | refusal, ACKs on the air, a split at the router |
//! | `windows` | the window of a generated ACK |

mod acknowledging;
mod bench;
mod ends;
mod repairing;
mod variants;
mod windows;
