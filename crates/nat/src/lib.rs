//! Network address and port translation (NAPT) over IPv4, as a pure state machine: packets and the time come
//! in, translated packets come out. The state of one inside host is a value that moves to another translator,
//! so that the host's connections keep their outside addresses and ports when it roams.
//!
//! | subject | source | module |
//! |---|---|---|
//! | packets in both directions, ICMP errors, hairpinning | RFC 4787, 5382, 5508 | [`Nat`] |
//! | mappings and sessions, their expiry and their limits | RFC 4787, section 4; RFC 6146, section 3 | `table` |
//! | the state of a session, and how long it lasts when idle | RFC 5382, section 5; RFC 7857, section 2 | `session` |
//! | outside ports | RFC 4787, section 4.2; RFC 7857, sections 8 and 9 | `ports` |
//! | the state of a host as a value; redirection | CICADA, section III | [`transfer`] |
//! | addresses that an access point gives to its clients | RFC 2131, section 4.3.1 | [`leases`] |
//!
//! # What the RFCs leave open, and what was chosen
//!
//! - Mapping is endpoint-independent (RFC 4787, REQ-1; RFC 5382, REQ-1). Filtering is a setting
//!   ([`Filtering`]); the default depends on the address, which RFC 4787 (REQ-8) recommends where it matters
//!   more to keep packets out than to let every application work.
//! - A mapping lasts as long as one of its sessions. UDP: 2 minutes while only one end has sent, 5 minutes
//!   afterwards (RFC 4787, REQ-5). TCP: 2 hours 4 minutes if established, 4 minutes while it opens or closes
//!   and after a reset (RFC 5382, REQ-5; RFC 7857, sections 2.2 and 2.3). ICMP queries: 60 seconds (RFC
//!   5508, REQ-2).
//! - Packets from outside refresh a session as well (RFC 4787, REQ-6 allows it); outbound resets and ICMP
//!   errors do not (RFC 7857, section 7.1).
//! - The inside port is kept outside where it is free; otherwise a port is drawn at random (RFC 7857, section
//!   9), of the same parity for UDP (RFC 4787, REQ-4). Both are settings.
//! - All mappings of a host have the same outside address (RFC 4787, REQ-2).
//! - An unsolicited SYN from outside is dropped and never answered. RFC 5382 (REQ-4) asks for 6 seconds of
//!   silence, and then for an ICMP error unless a policy forbids it; the policy here is to show nothing of
//!   the inside. A simultaneous open works: the SYN from outside belongs to the session that the one from
//!   inside has begun (REQ-2).
//! - Only a SYN opens a TCP session, unless [`NatConfig::picks_up`] is set, as
//!   Linux's `nf_conntrack_tcp_loose`.
//! - A full table refuses new mappings and sessions and counts them; it never evicts one that is not idle.
//!
//! Not done: fragments and packets with IP options, which are dropped (RFC 4787, REQ-14, would have fragments
//! translated); other protocols; IPv6, which passes unchanged; application-level gateways.

mod config;
mod counts;
mod endpoint;
mod flow;
pub mod leases;
mod nat;
mod ports;
mod session;
mod table;
#[cfg(test)]
mod tests;
pub mod transfer;

pub use config::{ConfigError, Filtering, NatConfig};
pub use counts::{Counts, Refusal};
pub use endpoint::{Endpoint, Protocol};
pub use leases::Leases;
pub use nat::{ForwardError, Nat, Verdict};
pub use session::Timeouts;
pub use table::Limits;
pub use transfer::{Mapping, Redirect};
