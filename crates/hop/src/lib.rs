//! Floor 3: what schemes share about a last hop.
//!
//! | module | what is in it |
//! |---|---|
//! | [`last_hop`] | how much may be on the hop to a mobile host: a window that keeps the queue there short |
//! | [`split`] | two connections in place of one: legs, and what goes from one to the other |
//! | [`upload`] | what an access point can know of an upload: its holes, the hop's delay |
//! | [`handshake`] | what SYNs say of the connection that they open |
//! | [`plain_ack`] | ACKs that carry nothing else, to be sent later |
//! | [`control_message`] | ICMP messages by which a node reports link events to a TCP sender |
//! | [`transfer`] | the form in which agents export what they know of a connection |
//! | [`lately`] | the least of what was seen lately |

pub mod control_message;
pub mod handshake;
pub mod last_hop;
pub mod plain_ack;
pub mod split;
pub mod transfer;
pub mod upload;
pub mod windowed_min;
