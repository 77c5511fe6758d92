//! What schemes share about a last hop.
//!
//! | module | contents |
//! |---|---|
//! | [`last_hop`] | the limit of data on the hop to a mobile host: a window that keeps the queue there short |
//! | [`split`] | two connections in place of one: legs, and the transfer between them |
//! | [`upload`] | what an access point knows of an upload: its holes, the delay of the hop |
//! | [`handshake`] | what SYNs carry about the connection that they open |
//! | [`plain_ack`] | pure ACKs, to be sent later |
//! | [`control_message`] | ICMP messages by which a node reports link events to a TCP sender |
//! | [`transfer`] | the form in which agents export the state of a connection |
//! | [`windowed_min`] | the minimum of recent values |

pub mod control_message;
pub mod handshake;
pub mod last_hop;
pub mod plain_ack;
pub mod split;
pub mod transfer;
pub mod upload;
pub mod windowed_min;
