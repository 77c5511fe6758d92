//! Segment scripts, in the manner of packetdrill; a file a rule. `script.rs` has the notation.

mod acceptable_ack;
mod advertised_window;
mod close;
mod congestion_avoidance;
mod delayed_ack;
mod extension;
mod fast_retransmit;
mod handshake_active;
mod handshake_passive;
mod icmp;
mod karn;
mod newreno;
mod reassembly;
mod receive_window;
mod reset;
mod retransmission_timer;
mod rto;
mod sack;
mod script;
mod segment;
mod silly_window;
mod slow_start;
mod timeout;
mod timestamps;
mod zero_window;
