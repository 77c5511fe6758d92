//! Snoop: the access point caches what it forwards to a mobile host, retransmits what the wireless
//! hop lost, and keeps the duplicate ACKs for it from the sender, who then does not mistake the
//! loss for congestion.
//!
//! H. Balakrishnan, S. Seshan, E. Amir, R. H. Katz, "Improving TCP/IP Performance over Wireless
//! Networks", `MobiCom` 1995 ("the paper"), and the authors' code for ns-2, `tcp/snoop.cc`,
//! `tcp/snoop.h` and `tcl/lan/ns-ll.tcl` in ns-2.35 ("snoop.cc"). Place: the access point. Both
//! ends stay as they are. Data from the radio side (upload) passes untouched, unless [`uplink`] is
//! set.
//!
//! | room | what is in it |
//! |---|---|
//! | [`published`] | losses by duplicate ACKs, as in snoop.cc: its rules, and where they differ from the paper |
//! | [`today`] | losses by SACK, for the TCP of today |
//! | `flow`, [`effects`] | what both know of a connection; the trait [`Recovery`](flow::Recovery) between it and the two |
//! | `agent` | the agent: connections, hops, memory; its parts are `packets`, `timers`, `lifetime`, `transfer` |
//! | `hold_queue`, `waiting` | the local window |
//! | `fast_path`, `short_path`, `path_mtu` | what bypasses the agent; connections left to their senders; smaller packets |
//! | [`uplink`] | data from the mobile host |
//!
//! `preset = "published"` behaves as snoop.cc does. What the default adds can be switched on and off setting by
//! setting; `loss-detection` chooses the room.
//!
//! # What was added for today's TCP
//!
//! | setting | what it does | where |
//! |---|---|---|
//! | `loss-detection = "sack"` | every hole is found by what left after it and arrived, lost copies too, and repaired at once; a super-packet is cached as one buffer and repaired in pieces | [`today::scoreboard`] |
//! | `timer = "hop"` | RFC 6298 with back-off, from 20 ms on, longer where the receiver may delay its ACK, and the longer the more copies were needless; sends the first segment missing and the last | [`rtt`] |
//! | `withholding` | SACK blocks above the first hole of ours, the duplicate ACKs that then say nothing, and reports of data doubled by our copies do not reach the sender; for 100 ms and two round trips over the hop at most | `today::rewriting` |
//! | `monotone-timestamps` | copies, and packets that waited, carry the highest TSval that went to the receiver | `segmentation` |
//! | `local-window` | packets wait here and not in the queue behind, which stays about 3 ms long: a repair takes one short round trip, overtakes what waits, and so does everybody else's packet | [`lasthop_hop::last_hop`], `hold_queue` |
//!
//! *Not asked for:* data in order and its acknowledgments, as long as nothing waits and nothing is
//! missing (`fast_path`): a gateway's kernel forwards them.
//!
//! *A hop that loses nothing* (a run of 1,000 segments without a loss; [`lasthop_hop::last_hop`]), and has
//! no queue or delivers more than 1 Gbit/s, is only watched: nothing waits for room, and where packets
//! pass without asking their headers are enough. So nothing of them is cached. The first loss is
//! then the sender's to repair, and it hears of it. After that data is cached again, until the hop
//! has delivered twice as many segments without a loss.
//!
//! *A sender that does as well without us* (`steps-aside`, `short_path`): its path to us is no longer
//! than the hop, so that it repairs losses nearly as soon as we could, and they leave it twice the
//! window that it uses. Its connection passes untouched.
//!
//! *It fails open.* The sender hears of nothing that the receiver has not got: no early ACK, no
//! SACK block that the receiver did not send. What waits here is not acknowledged, so an agent that
//! dies loses some packets, as a queue that is flushed does.
//! [`Transfer::drain`](lasthop_agent::Transfer::drain) sends all that waits.
//!
//! *The sender's order is kept.* Our copies overtake what waits; what the sender sends again does
//! not: had it come back before what left the sender earlier and waits here, RACK would take all of
//! that for lost. Where the receiver tells of no blocks it does overtake: RACK has nothing to go by
//! there, and only what the receiver waits for can free the window.
//!
//! *Congestion stays a signal.* A connection whose packets wait longer than `held-delay` loses the
//! first that waits, uncached, and no other of that window; a sender that does not slow down for it
//! loses ever fewer. What exceeds four times that delay is dropped. What was not cached is never
//! withheld.
//!
//! *A silent receiver.* What was on the hop when the timer expired no longer counts in the window, which
//! other connections to the same address share: they may be those of another device behind it. Until the
//! receiver answers, it gets copies and what the sender sends again, and what waits for it waits on; once
//! retransmissions are used up, that is dropped, and whatever comes passes.
//!
//! *A path behind the hop that takes smaller packets* (`path_mtu`): once a router says so, or the sender
//! sends something again in smaller segments, what is cached is forgotten. The sender, who hears of it as
//! without an agent, repairs that.
//!
//! # What paper and code leave open, and what we chose
//!
//! *Octets.* ns-2 numbers packets. Here an ACK may cover a part of a cached packet (a super-packet
//! of segmentation offload, or other segment borders in a retransmission). The rest of it then
//! counts as a packet that was not retransmitted yet, and a copy carries only what the receiver
//! misses: from the acknowledgment number up to the first SACK block.
//!
//! *What a duplicate ACK is.* RFC 5681, section 2, with what came after it. No duplicate, and never
//! suppressed, is an ACK that carries data, any flag but ACK (SYN, FIN, RST, and ECE and CWR, with
//! which ECN, and accurate ECN, tell of congestion), an option that we do not know (such as those
//! of MPTCP), another window than the last, a window of zero (it keeps a sender in persist state
//! alive), or a report of duplicate data (RFC 2883 tells it once; no later ACK would). Other SACK
//! information in a suppressed ACK is not lost: the receiver repeats it, as far as the three or
//! four blocks of an option go (RFC 2018, section 4). An ACK that changes the window and reports
//! SACK blocks is a sign of loss all the same (RFC 6675, section 2): real receivers open the window
//! while they hold data above a hole. It counts, and triggers the repair, but passes.
//!
//! *Timestamps.* A segment that overtakes older ones with a newer TSval makes PAWS (RFC 7323,
//! section 5.3) refuse those from then on: after one retransmission by the sender every older copy
//! in the cache would be dead. So a copy leaves with the highest TSval that already went to the
//! receiver. The sender then measures (section 4.1) the time since that later packet left it: a
//! true round-trip time of the path, but without the time that the repair took. Its RTO does not
//! learn how long local repairs take; nor can it mistake the echo for that of its first
//! transmission (Eifel, RFC 3522). The copy keeps its old acknowledgment number, window and TSecr;
//! receivers ignore the first two as older than what they have (RFC 9293, section 3.10.7.4).
//!
//! *Zero window.* The timer does not retransmit into a closed window; probes are the sender's
//! business.
//!
//! *Beginning and end.* State begins with the first data from the core side, never with a SYN, so
//! that a SYN flood takes no room and a connection that is older than the agent is served too.
//! Until an ACK is seen, the first packet cached is taken for the one that the receiver waits for.
//! A SYN from either side starts anew, and so do sequence numbers more than 2^30 away. A RST from
//! either side ends the state, and so does an ACK of the sender's FIN; a FIN from the mobile host
//! does not, since data may still flow to it. A connection without packets is forgotten after a
//! while.
//!
//! *Not touched:* urgent data, segments with unknown options (signatures, MPTCP), ACKs of data that
//! never passed, and everything that is not TCP. Beside its own copies the agent edits two things, and
//! neither in a segment with an option that it does not know: the TSval of a segment that has waited, and
//! the SACK blocks of an ACK.
//!
//! # Where the default does harm, or little
//!
//! - A sender whose RTO is shorter than the local time-out may repair faster by itself, and learns
//!   a longer RTO.
//! - The local window aims at a delay. Beside a sender behind us that fills the queue it keeps its
//!   share at the time, no more.
//! - Once a hop has shown no loss for long, the first loss shrinks the sender's window.
//! - It cannot see into `IPsec` or QUIC, needs both directions to pass, and starts from nothing
//!   after a hand-off.

mod agent;
mod core_path;
pub mod effects;
mod fast_path;
pub mod flow;
mod hold_queue;
mod lifetime;
mod packets;
mod path_mtu;
pub mod published;
pub mod rtt;
mod saved;
mod scheme;
mod segmentation;
pub mod settings;
mod short_path;
#[cfg(test)]
mod tests;
mod timers;
pub mod today;
mod transfer;
pub mod uplink;
mod waiting;

pub use agent::Snoop;
pub use scheme::SCHEME;
pub use settings::Settings;
