//! TCP packet control: filters at the edge for hops on which segments overtake each other or are
//! delayed in groups, as surveyed by Sonia and Malhotra, "A Literature Survey on Packet control for
//! wireless network", International Journal of Computer Science and Information Technology Research
//! 2(3), 2014. With `preset = "published"` the rules are the paper's; by default they are adapted
//! to current TCP. No data is acknowledged that the receiver has not acknowledged, and the state of
//! a connection has constant size.
//!
//! | rule | source | file |
//! |---|---|---|
//! | an ACK with a lower number than an earlier one is dropped | 3.B.1 | `ack_filter` |
//! | a new ACK passes, and resets the count of duplicates | 3.B.1 | `ack_filter` |
//! | duplicates are dropped evenly: of each threshold, its excess over the sender's | 3.B.1, 4 | `thinning` |
//! | data is dropped if the sender has received its acknowledgment | 3.B.2, 4 | `data_filter` |
//! | an ACK is sent at every second repetition of such a segment | 3.B.2, 4 | `repetitions` |
//!
//! # What the paper leaves open, and what we chose on what evidence
//!
//! 1. *The formula for `nextDupAckToSend`*, which is missing in the text: see `thinning`, whose
//!    tests check its properties.
//! 2. *Duplicates above the threshold.* As published they are thinned as before: the formula has no
//!    limit. By default they pass, because the sender is in recovery and needs them. If they also
//!    pass in the published form, scenario I changes little: +108% instead of +110% (threshold 12).
//! 3. *How long.* As published a withheld duplicate is discarded, and a loss in a window of fewer
//!    segments than the threshold waits for the sender's timer. By default duplicates are withheld
//!    for as long as overtaken segments have recently been late (`lateness`), and then the sender
//!    gets what it needs: three, or the number received. If no segments are overtaken, nothing is
//!    withheld.
//! 4. *SACK blocks.* They report missing data to a sender without any duplicate. As published they
//!    pass. By default reports of data above a hole are withheld like duplicates, removed from new
//!    ACKs, too, and sent later; none is lost. If they were discarded, a sender would know less
//!    than TCP guarantees. A sender with timestamps or D-SACK undoes needless actions, and learns
//!    how late segments are: its connection is left alone (`steps-aside`). Dropping its old ACKs
//!    alone cost Linux with Reno 5% on `scenarios/try-jitter.toml`.
//! 5. *Duplicate ACKs:* RFC 5681, section 2. An ACK with data, another flag, an unknown option,
//!    another window, a zero window or a report of duplicate data passes and does not count, and
//!    none of these is dropped as old.
//! 6. *Octets, not segments*: data is dropped if all of it is acknowledged.
//! 7. *Data with news passes*: another acknowledgment number or window for the other direction, any
//!    flag but ACK and PSH, SACK blocks, unknown options. So does the octet of a sender's
//!    keep-alive probe (RFC 9293, section 3.8.4).
//! 8. *The list of repeated segments* has no bound in the paper. Ours has four entries: a sender
//!    repeats the first missing segment again and again.
//! 9. *The contents of the generated ACK*: it is a copy of the mobile host's last new ACK. For a
//!    sender with SACK it reports the dropped segment as a duplicate (RFC 2883), as the receiver
//!    itself would have, and then there is one for each.
//! 10. *Plausibility.* A forged ACK must not stop a connection: an ACK counts only with a number
//!     that the fixed host would accept, and of data that has passed; and if a sender repeats a
//!     segment nine times, the ACK is not trusted any more.
//! 11. *ECN*: connections whose ACKs echo or count marks are left alone, as each of their ACKs is
//!     news (RFC 3168, RFC 9768).
//!
//! # Limits
//!
//! Uploads pass unchanged. The agent needs to see both directions, and no link-layer information.
//! Its state begins with the first data, and ends with a SYN, a reset or the acknowledged end of
//! the data.

mod ack_filter;
mod agent;
mod data_filter;
mod duplicates;
mod flow;
mod lateness;
mod repetitions;
mod reports;
mod scheme;
mod settings;
mod thinning;
mod transfer;

#[cfg(test)]
mod tests;

pub use agent::{OLD_ACK, PacketControl, REPEATED_DATA};
pub use scheme::SCHEME;
pub use settings::{Settings, Withholding};
