//! RTP and RTCP (RFC 3550): the headers in UDP payloads.
//!
//! | module | contents |
//! |---|---|
//! | [`data`] | RTP packets: the fixed header, and the position of the payload |
//! | [`control`] | RTCP: compound packets of sender and receiver reports |
//!
//! UDP's header does not show that a payload is RTP. The checks here are those of RFC 3550,
//! appendices A.1 and A.2; other payloads sometimes pass them. Code that recognizes a stream by
//! them requires several packets in a row.

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
