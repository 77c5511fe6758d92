//! RTP and RTCP (RFC 3550): what a UDP payload says of the stream that it is of.
//!
//! | module | what is in it |
//! |---|---|
//! | [`data`] | RTP packets: the fixed header, and where the payload lies |
//! | [`control`] | RTCP: compound packets of sender and receiver reports |
//!
//! UDP's header does not say that a payload is RTP: the checks here are those of RFC 3550,
//! appendices A.1 and A.2, which octets that are something else pass now and then. Code that
//! recognises a stream by them asks for several packets in a row.

pub mod control;
pub mod data;
#[cfg(test)]
mod tests;

pub use control::{Compound, Control, ReportBlock, ReportBlocks, Reports, SenderInfo};
pub use data::{Rtp, RtpPacket};

/// The version of both protocols.
const VERSION: u8 = 2;

/// Whether a UDP payload that begins with this octet may be RTP or RTCP: both begin with their
/// version. STUN, DTLS, ZRTP and QUIC on the same port begin otherwise (RFC 9443, section 3).
pub const fn may_begin_with(octet: u8) -> bool {
    octet >> 6 == VERSION
}
