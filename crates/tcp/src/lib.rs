//! The TCP endpoint as a pure state machine: packets and the time go in, packets and a
//! deadline come out.
//!
//! | module | what is in it |
//! |---|---|
//! | [`connection`] | [`Connection`]: states, input, output, timers |
//! | [`config`] | [`Config`]: what can be set, with the defaults and where they come from |
//! | [`flight`] | [`Flight`]: the send variables, with cwnd and ssthresh |
//! | [`congestion`] | [`CongestionControl`]: how cwnd grows and shrinks; a file a flavour, [`Congestion`] to choose one |
//! | [`recovery`] | [`LossRecovery`]: what is lost, and what goes again; a file a flavour, [`Recovery`] to choose one |
//! | [`retransmission_queue`] | [`RetransmissionQueue`]: what is outstanding, segment by segment, for what goes by it |
//! | [`rtt`] | round-trip time and RTO |
//! | [`send_buffer`], [`reassembly`] | data not yet acknowledged, data not yet in order |
//! | [`extension`] | [`SenderExtension`], [`ReceiverExtension`]: what a scheme changes in the sender and in the receiver |
//!
//! An agent between two ends can take the place of one of them: [`Connection::adopt`] goes on
//! behind a handshake that was seen on the path, and [`Connection::snapshot`] and
//! [`Connection::restore`] move a connection to another process or machine.
//!
//! This crate knows no scheme; a scheme that changes an endpoint implements [`SenderExtension`] or
//! [`ReceiverExtension`] in its own folder. Not modelled: Nagle's algorithm (every sender has
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
