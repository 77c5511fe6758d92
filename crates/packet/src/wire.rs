//! Octets to [`Packet`] and back.
//!
//! [`parse`] reads what it understands and keeps the rest as it came; [`emit`] writes a packet that
//! nobody edited verbatim and computes lengths and checksums for every other. What [`parse`] does
//! not fully understand is [`Transport::Opaque`], so that no agent touches it: other protocols,
//! fragments, IPv4 options, IPv6 extension headers, ESP, and everything malformed.
//!
//! [`Packet`]: crate::Packet
//! [`Transport::Opaque`]: crate::Transport::Opaque

mod checksum;
mod damage;
mod emit;
mod options;
mod parse;
mod peek;
#[cfg(test)]
mod properties;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;

pub use checksum::{checksums_are_right, header_checksum_is_right, transport_checksum_is_right};
pub use damage::damaged;
pub(crate) use emit::beginning;
pub use emit::{emit, emit_for_offload};
pub use parse::{ParseError, parse, parse_headers};
pub use peek::peek_flow_key;

/// The protocol number of ICMP (RFC 792).
pub const PROTOCOL_ICMP: u8 = 1;
/// The protocol number of TCP (RFC 9293).
pub const PROTOCOL_TCP: u8 = 6;
/// The protocol number of UDP (RFC 768).
pub const PROTOCOL_UDP: u8 = 17;
/// The next-header number of `ICMPv6` (RFC 4443).
pub const PROTOCOL_ICMPV6: u8 = 58;
/// The next-header number that says that nothing follows (RFC 8200, section 4.7).
const NO_NEXT_HEADER: u8 = 59;
