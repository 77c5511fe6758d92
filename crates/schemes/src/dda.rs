//! DDA, delayed duplicate acknowledgements: a link layer that retransmits lost frames by itself, and
//! delivers out of order; and a TCP receiver that holds back what would tell the sender of a loss,
//! until the link layer has had the time to repair it.
//!
//! N. H. Vaidya, M. Mehta, C. Perkins, G. Montenegro, "Delayed duplicate acknowledgements: a
//! TCP-unaware approach to improve performance of TCP over wireless", technical report 99-003, Texas
//! A&M University 1999; Wireless Communications and Mobile Computing 2(1), 2002 ("the paper"). Its
//! text could not be had. The rules are those that D. Kliazovich's dissertation (University of Trento
//! 2006; section 2.4, tables 2.2 and 2.3) reports of it; what is said of it elsewhere could not be
//! checked.
//!
//! | rule | where it stands | file |
//! |---|---|---|
//! | the link layer acknowledges and retransmits frames by numbers of its own, and does not keep order | dissertation, 2.4 | the simulator's `Arq::SelectiveRepeat` |
//! | the receiver delays the third duplicate ACK and those behind it for a time d; the first two go at once | dissertation: they are delayed; from the third on: said elsewhere | `flow` |
//! | what was missing arrives within d: they are discarded | dissertation, 2.4 | `flow` |
//! | it does not: they are released, and the sender retransmits | dissertation, 2.4 | `flow`, `agent` |
//!
//! Nothing else about TCP is known, nothing of the link layer, and no data is kept.
//!
//! # What is left open, what we chose
//!
//! 1. *Which node.* Said elsewhere: the receiver, which is the mobile host of a download. So it is by
//!    default. At the base station (`seat = "edge"`) the same ACKs can be held as they come off the hop,
//!    for mobile hosts as they are; they take the air's time in between. Uploads pass untouched.
//! 2. *The value of d*, which the dissertation calls difficult to choose: 50 ms by experiment, see
//!    docs/src/schemes.md. The time runs from the first that is held.
//! 3. *What is a duplicate:* RFC 5681, section 2. An ACK with data, another flag, an unknown option,
//!    another window, or a window of zero passes and is not counted; and so does one where no data
//!    beyond it has come, such as the answer to a keep-alive.
//! 4. *SACK blocks* pass: a report may be the only one, and a new ACK need not repeat it. So a sender with
//!    SACK is told of every hole at once, and nothing changes for it. Linux waits with its
//!    retransmissions by itself once it has learned that segments overtake each other (RACK, RFC 8985).
//! 5. *How what is held is kept:* as a number, and the last ACK. Duplicates say the same. What is
//!    released has the latest sequence number, window and timestamps that the receiver has sent.
//! 6. *What was missing has arrived* when the receiver acknowledges more: it does so at once where a
//!    hole is filled (RFC 5681, section 4.2).
//! 7. *After a release* duplicates go on at once until something new is acknowledged: the sender is in
//!    recovery, and counts them.
//! 8. *How many* are held: 256 at most. With more, all go on.
//!
//! It takes no obligation, and a constant number of octets for a connection, at most as many of them
//! as the budget has. Its state begins with the first data, and ends with a SYN or a reset.

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
