//! TCP packet control: filters at the edge for hops on which segments overtake each other or are
//! late all at once, as surveyed by Sonia and Malhotra, "A Literature Survey on Packet control for
//! wireless network", International Journal of Computer Science and Information Technology Research
//! 2(3), 2014. The rules are the paper's with `preset = "published"`; by default they are mended for
//! the TCP of today. Nothing is acknowledged that the receiver has not acknowledged, and what is
//! known of a connection takes a constant number of octets.
//!
//! | rule | where it stands | file |
//! |---|---|---|
//! | an ACK with a lower number than one that came before it is dropped | 3.B.1 | `ack_filter` |
//! | a new ACK passes, and the count of duplicates begins again | 3.B.1 | `ack_filter` |
//! | duplicates are dropped evenly, as many of each threshold as it exceeds the sender's by | 3.B.1, 4 | `thinning` |
//! | data that the sender has been told is acknowledged is dropped | 3.B.2, 4 | `data_filter` |
//! | an ACK is sent at every second repetition of such a segment | 3.B.2, 4 | `repetitions` |
//!
//! # What the paper leaves open, what we chose, and on what evidence
//!
//! 1. *The formula for `nextDupAckToSend`*, which is lost: see `thinning`, where its properties are
//!    proved by test.
//! 2. *Duplicates beyond the threshold.* As published they are thinned as before: the formula has no
//!    end. By default they pass, because the sender is in recovery and needs them. Where
//!    they pass in the published form, too, scenario I changes little: +108% in place of +110%
//!    (threshold 12).
//! 3. *How long.* As published a withheld duplicate is gone, and a loss in a window of fewer segments
//!    than the threshold waits for the sender's timer. By default duplicates are withheld for as
//!    long as overtaken segments have lately been late (`lateness`), and then the sender gets what it
//!    needs: three, or as many as there were. Where nothing is overtaken, nothing is withheld.
//! 4. *SACK blocks.* They tell a sender of what is missing without any duplicate. As published they
//!    pass. By default reports of data above a hole are withheld like duplicates, taken out of new
//!    ACKs, too, and told later; none is lost. With them thinned away for good, a sender would know
//!    less than TCP promises it.
//!    A sender with timestamps or D-SACK takes back what it did in vain, and learns how late segments
//!    are: its connection is left alone (`steps-aside`). Dropping its old ACKs alone cost Linux with
//!    Reno 5% on `scenarios/try-jitter.toml`.
//! 5. *What is a duplicate:* RFC 5681, section 2. An ACK with data, another flag, an unknown option,
//!    another window, a window of zero or a report of duplicate data passes and is not counted, and
//!    none of these is dropped as old.
//! 6. *Octets, not segments*: data is dropped if all of it is acknowledged.
//! 7. *Data with news passes*: another acknowledgment number or window for the other direction, any
//!    flag but ACK and PSH, SACK blocks, unknown options. So does the octet with which a sender asks
//!    whether its peer is there (RFC 9293, section 3.8.4).
//! 8. *The list of repeated segments* has no bound in the paper. Ours has four entries: a sender
//!    repeats the first segment that it misses, over and over.
//! 9. *Which number the made ACK has, and what else it says*: it is the last new ACK of the mobile
//!    host, said again. For a sender with SACK it reports the dropped segment as a duplicate (RFC
//!    2883), as the receiver itself would have, and then there is one for each.
//! 10. *What is believed.* A forged ACK must not stop a connection: an ACK counts only with a number
//!     that the fixed host would accept, and of data that has passed; and a sender that repeats a segment
//!     nine times is believed in its place.
//! 11. *ECN*: connections whose ACKs echo or count marks are left alone, as each of their ACKs is news
//!     (RFC 3168, RFC 9768).
//!
//! # Limits
//!
//! Uploads pass untouched. It needs to see both directions, and nothing of the link layer. Its state
//! begins with the first data, and ends with a SYN, a reset or the acknowledged end of the data.

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
