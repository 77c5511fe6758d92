//! DDA, delayed duplicate acknowledgements: the link layer retransmits lost frames and delivers out
//! of order; the TCP receiver holds the ACKs that would report a loss to the sender, until the link
//! layer has had time to repair it.
//!
//! N. H. Vaidya, M. Mehta, C. Perkins, G. Montenegro, "Delayed duplicate acknowledgements: a
//! TCP-unaware approach to improve performance of TCP over wireless", technical report 99-003, Texas
//! A&M University 1999; Wireless Communications and Mobile Computing 2(1), 2002 ("the paper"). Its
//! text was not available. The rules are those that D. Kliazovich's dissertation (University of
//! Trento 2006; section 2.4, tables 2.2 and 2.3) reports; rules from other sources could not be
//! checked.
//!
//! | rule | source | file |
//! |---|---|---|
//! | the link layer acknowledges and retransmits frames by its own numbers, and does not keep order | dissertation, 2.4 | the simulator's `Arq::SelectiveRepeat` |
//! | the receiver delays the third duplicate ACK and later ones for a time d; the first two are sent at once | dissertation: they are delayed; from the third on: another source | `flow` |
//! | if the missing data arrives within d, they are discarded | dissertation, 2.4 | `flow` |
//! | otherwise they are released, and the sender retransmits | dissertation, 2.4 | `flow`, `agent` |
//!
//! The scheme uses no other knowledge of TCP and none of the link layer, and keeps no data.
//!
//! # What the texts leave open, and what we chose
//!
//! 1. *Which node.* According to another source: the receiver, which is the mobile host of a
//!    download. That is the default. At the base station (`seat = "edge"`) the same ACKs can be
//!    held as they come from the hop, for unmodified mobile hosts; they use airtime then. Uploads
//!    pass unchanged.
//! 2. *The value of d*, which the dissertation calls difficult to choose: 50 ms by experiment, see
//!    docs/src/schemes.md. The time runs from the first held ACK.
//! 3. *Duplicate ACKs:* RFC 5681, section 2. An ACK with data, another flag, an unknown option,
//!    another window, or a zero window passes and does not count; and so does one if no data above
//!    it has passed, such as the answer to a keep-alive.
//! 4. *SACK blocks* pass: a report may be the only one, and a new ACK need not repeat it. So a
//!    sender with SACK learns of every hole at once, and nothing changes for it. Linux itself
//!    delays its retransmissions once it has learned that segments overtake each other (RACK, RFC
//!    8985).
//! 5. *How held ACKs are kept:* as a number, and the last ACK. Duplicates carry the same
//!    information. A released ACK has the latest sequence number, window and timestamps that the
//!    receiver has sent.
//! 6. *Missing data has arrived* when the receiver acknowledges more: it does so at once when a
//!    hole is filled (RFC 5681, section 4.2).
//! 7. *After a release* duplicates pass at once until new data is acknowledged: the sender is in
//!    recovery, and counts them.
//! 8. *How many* are held: at most 256. With more, all are released.
//!
//! The agent takes no obligation. A connection's state has constant size, and the budget limits
//! their number. The state begins with the first data, and ends with a SYN or a reset.

mod agent;
mod flow;
mod scheme;
mod settings;
#[cfg(test)]
mod tests;
mod transfer;

pub use agent::Dda;
pub use scheme::SCHEME;
pub use settings::{DdaSeat, Settings};
