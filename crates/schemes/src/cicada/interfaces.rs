//! The CICADA table: which interfaces are wired and which are wireless, and the policy for a
//! connection between two of them.
//!
//! The radio side of an attachment point is its wireless interfaces. All others, and the node
//! itself, are its core side: wired. On a real access point the gateway detects the interfaces,
//! unless its configuration states them.

use lasthop_agent::Side;

/// The medium of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Ethernet, ADSL, a tunnel: all that are not a wireless hop.
    Wired,
    /// A wireless hop.
    Wireless,
}

/// The medium of a side's interfaces.
pub const fn medium(side: Side) -> Medium {
    match side {
        Side::Core => Medium::Wired,
        Side::Radio => Medium::Wireless,
    }
}

/// The policy for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Both media are the same: it is only routed.
    Routed,
    /// From wired to wireless, or the reverse: it is split.
    Split,
}

/// The policy for connections that come in by one medium and go out by the other.
pub const fn policy(input: Medium, output: Medium) -> Policy {
    match (input, output) {
        (Medium::Wired, Medium::Wireless) | (Medium::Wireless, Medium::Wired) => Policy::Split,
        (Medium::Wired, Medium::Wired) | (Medium::Wireless, Medium::Wireless) => Policy::Routed,
    }
}
