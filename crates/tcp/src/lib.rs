//! The TCP endpoint as a pure state machine: its input is packets and the time, its output packets and
//! a deadline.
//!
//! | module | what is in it |
//! |---|---|
//! | [`connection`] | [`Connection`]: states, input, output, timers |
//! | [`config`] | [`Config`]: the settings, with their defaults and sources |
//! | [`flight`] | [`Flight`]: the send variables, with cwnd and ssthresh |
//! | [`congestion`] | [`CongestionControl`]: how cwnd grows and shrinks; a file for each algorithm, chosen by [`Congestion`] |
//! | [`recovery`] | [`LossRecovery`]: detection and repair of losses; a file for each algorithm, chosen by [`Recovery`] |
//! | [`retransmission_queue`] | [`RetransmissionQueue`]: the outstanding segments |
//! | [`rtt`] | round-trip time and RTO |
//! | [`send_buffer`], [`reassembly`] | unacknowledged data, data above a gap |
//! | [`extension`] | [`SenderExtension`], [`ReceiverExtension`]: the hooks for schemes |
//!
//! An agent between two ends can take the place of one of them: [`Connection::adopt`] continues a
//! connection whose handshake was seen on the path, and [`Connection::snapshot`] and
//! [`Connection::restore`] move a connection to another process or machine.
//!
//! This crate knows no scheme; a scheme that changes an endpoint implements [`SenderExtension`] or
//! [`ReceiverExtension`] in its own folder. Nagle's algorithm is not modeled (every sender has
//! `TCP_NODELAY`).

pub mod config;
pub mod congestion;
pub mod connection;
pub mod extension;
pub mod flight;
mod negotiation;
pub mod reassembly;
mod receive;
pub mod recovery;
pub mod retransmission_queue;
pub mod rtt;
mod send;
pub mod send_buffer;
mod state;
mod stats;

pub use config::{AckPolicy, Config, GiveUp, LINUX_WINDOW_MAX, PacingRule};
pub use congestion::{Congestion, CongestionControl, PathModel, SlowStart};
pub use connection::{Connection, Handshake, NotAHandshake, Snapshot, Unusable};
pub use extension::{
    DuplicateAckResponse, IcmpNotice, OutgoingAck, ReceiverControl, ReceiverExtension, SenderControl,
    SenderExtension, TimeoutResponse,
};
pub use flight::Flight;
pub use recovery::{LossRecovery, RackConfig, Recovery};
pub use retransmission_queue::RetransmissionQueue;
pub use rtt::{RtoConfig, RtoRule, RttEstimator};
pub use state::State;
pub use stats::{Refusal, Refused, Stats};
