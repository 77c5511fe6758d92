//! The CICADA table: which interfaces are wired and which are wireless, and what follows for a packet
//! that goes from one to another.
//!
//! A seat's radio side is what it watches: its wireless interfaces. All others, however many, and the
//! node itself are its core side: wired. On a real access point the gateway finds out which is which
//! (interface detection), unless its configuration says so.

use lasthop_agent::Side;

/// What an interface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Ethernet, ADSL, a tunnel: any that is no hop over the air.
    Wired,
    /// A hop over the air.
    Wireless,
}

/// What the interfaces of a side are.
pub const fn medium(side: Side) -> Medium {
    match side {
        Side::Core => Medium::Wired,
        Side::Radio => Medium::Wireless,
    }
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Both media are the same: it is routed, and nothing else.
    Routed,
    /// From wired to wireless, or back: it is split.
    Split,
}

/// What becomes of connections that come in by one medium and go out by the other.
pub const fn policy(input: Medium, output: Medium) -> Policy {
    match (input, output) {
        (Medium::Wired, Medium::Wireless) | (Medium::Wireless, Medium::Wired) => Policy::Split,
        (Medium::Wired, Medium::Wired) | (Medium::Wireless, Medium::Wireless) => Policy::Routed,
    }
}
