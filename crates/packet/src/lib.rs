//! What every other crate stands on.
//!
//! | module | what is in it |
//! |---|---|
//! | [`time`] | [`Instant`], nanoseconds since the start of a run |
//! | [`units`] | [`Bitrate`], [`Probability`], and how files write them (`"11 Mbit/s"`, `"5 ms"`, `"1%"`) |
//! | [`rng`] | [`Rng`], one named stream an entity |
//! | [`seq`] | [`Seq`], TCP sequence numbers that wrap |
//! | [`payload`] | [`Payload`], real octets or a piece of a simulated stream |
//! | [`header`] | IP, TCP, UDP and ICMP headers as plain structs |
//! | [`buffer`] | what a packet's memory costs |
//! | [`packet`] | [`Packet`]: headers, payload and, beside them, the octets as they came |
//! | [`link_options`] | options in the MAC header of the frame that a packet is in |
//! | [`wire`] | octets to [`Packet`] and back |
//! | [`ends`] | between whom a packet is, fragments and quoted packets included |
//! | [`prefix`] | [`Prefix`]: addresses that begin alike, and how files write them |
//! | [`quote`] | what an ICMP error message quotes of the packet that caused it |
//! | [`rtp`] | RTP and RTCP headers in UDP payloads |
//! | [`record`] | a packet that is stored, or sent to another machine |
//! | [`pcapng`] | a capture file that Wireshark reads |
//!
//! Start with [`Packet`].

pub mod buffer;
pub mod ends;
pub mod header;
pub mod link_options;
mod mark;
pub mod packet;
pub mod payload;
pub mod pcapng;
pub mod prefix;
pub mod quote;
pub mod record;
pub mod rng;
pub mod rtp;
pub mod seq;
pub mod time;
pub mod units;
pub mod wire;

pub use ends::Ends;
pub use header::{Ecn, Icmp, Ip, SackBlocks, Tcp, TcpFlags, TcpOptions, Timestamps, Udp};
pub use link_options::LinkOptions;
pub use packet::{FlowKey, Packet, Protocol, Sizes, Transport};
pub use payload::Payload;
pub use prefix::{Prefix, PrefixError};
pub use quote::{PacketTooBig, Quotation};
pub use record::{PacketRecord, RecordError};
pub use rng::Rng;
pub use seq::{LARGEST_WINDOW, Seq};
pub use time::Instant;
pub use units::{Bitrate, Probability};
