//! Octets to [`Packet`] and back.
//!
//! [`parse()`] reads the headers that it supports and keeps the rest unchanged; [`emit()`] writes an
//! unedited packet verbatim, and computes lengths and checksums for all others. Packets that
//! [`parse()`] does not fully support are [`Transport::Opaque`], so that no agent changes them: other
//! protocols, fragments, IPv4 options, IPv6 extension headers, ESP, and everything malformed.
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

pub use crate::header::{PROTOCOL_ICMP, PROTOCOL_ICMPV6, PROTOCOL_TCP, PROTOCOL_UDP};
pub use checksum::{checksums_are_right, header_checksum_is_right, transport_checksum_is_right};
pub use damage::damaged;
pub(crate) use emit::beginning;
pub use emit::{emit, emit_for_offload};
pub use parse::{ParseError, parse, parse_headers};
pub use peek::peek_flow_key;

/// The next-header number for "no next header" (RFC 8200, section 4.7).
const NO_NEXT_HEADER: u8 = 59;
