//! The basis of all other crates: packets, time, units and randomness.
//!
//! | module | contents |
//! |---|---|
//! | [`time`] | [`Instant`], nanoseconds since the start of a run |
//! | [`units`] | [`Bitrate`], [`Probability`], and their notation in files (`"11 Mbit/s"`, `"5 ms"`, `"1%"`) |
//! | [`rng`] | [`Rng`], one named stream per entity |
//! | [`seq`] | [`Seq`], TCP sequence numbers that wrap |
//! | [`payload`] | [`Payload`], real octets or a piece of a simulated stream |
//! | [`header`] | IP, TCP, UDP and ICMP headers as plain structs |
//! | [`buffer`] | the cost of a packet's memory |
//! | [`packet`] | [`Packet`]: headers, payload and the original octets |
//! | [`link_options`] | options in the MAC header of the frame that carries a packet |
//! | [`wire`] | octets to [`Packet`] and back |
//! | [`ends`] | protocol, addresses and ports of a packet, also of fragments and quoted packets |
//! | [`prefix`] | [`Prefix`]: address prefixes, and their notation in files |
//! | [`quote`] | the packet quoted in an ICMP error message |
//! | [`readdress`] | other addresses and ports for a packet, and for one that is quoted |
//! | [`rtp`] | RTP and RTCP headers in UDP payloads |
//! | [`record`] | packets that are stored, or sent to another machine |
//! | [`pcapng`] | capture files for Wireshark |
//!
//! Start with [`Packet`].

pub mod buffer;
pub mod ends;
pub mod header;
mod incremental;
pub mod link_options;
mod mark;
pub mod packet;
pub mod payload;
pub mod pcapng;
pub mod prefix;
pub mod quote;
pub mod readdress;
pub mod record;
pub mod rng;
pub mod rtp;
mod segments;
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
pub use readdress::End;
pub use record::{PacketRecord, RecordError};
pub use rng::Rng;
pub use seq::{LARGEST_WINDOW, Seq};
pub use time::Instant;
pub use units::{Bitrate, Probability};
