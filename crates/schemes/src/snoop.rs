//! Snoop: the access point caches the packets that it forwards to a mobile host, retransmits those
//! that the wireless hop loses, and suppresses the duplicate ACKs for them, so that the sender does
//! not mistake the loss for congestion.
//!
//! H. Balakrishnan, S. Seshan, E. Amir, R. H. Katz, "Improving TCP/IP Performance over Wireless
//! Networks", `MobiCom` 1995 ("the paper"), and the authors' code for ns-2, `tcp/snoop.cc`,
//! `tcp/snoop.h` and `tcl/lan/ns-ll.tcl` in ns-2.35 ("snoop.cc"). The scheme runs at the access
//! point; both ends are unchanged. Data from the radio side (upload) passes unchanged, unless
//! [`uplink`] is set.
//!
//! | module | contents |
//! |---|---|
//! | [`published`] | loss detection by duplicate ACKs, as in snoop.cc: the rules, and where they differ from the paper |
//! | [`today`] | loss detection by SACK, for current TCP |
//! | `flow`, [`effects`] | the state of a connection that both modes share; the trait [`Recovery`](flow::Recovery), which the two modes implement |
//! | `agent` | the agent: connections, hops, memory; its parts are `packets`, `timers`, `lifetime`, `transfer` |
//! | `hold_queue`, `waiting` | the local window |
//! | `fast_path`, `short_path`, `path_mtu` | packets that bypass the agent; connections left to their senders; a smaller path MTU |
//! | [`uplink`] | data from the mobile host |
//!
//! `preset = "published"` behaves like snoop.cc. Each addition of the default can be switched on
//! and off by its setting; `loss-detection` selects the module.
//!
//! # Additions for current TCP
//!
//! | setting | what it does | where |
//! |---|---|---|
//! | `loss-detection = "sack"` | each hole is detected once a later transmission is delivered (lost copies too), and is repaired at once; a super-packet is cached as one buffer and repaired in pieces | [`today::scoreboard`] |
//! | `timer = "hop"` | RFC 6298 with back-off, at least 20 ms; longer where the receiver may delay its ACK, and after needless copies; sends the first and the last missing segment | [`rtt`] |
//! | `withholding` | SACK blocks above the first hole that the agent repairs, duplicate ACKs that carry no other information, and reports of duplicates caused by the agent's copies do not reach the sender, for at most 100 ms plus two round trips over the hop | `today::rewriting` |
//! | `monotone-timestamps` | copies, and packets that have waited, carry the highest TSval sent to the receiver | `segmentation` |
//! | `local-window` | packets wait in the agent instead of in the queue downstream, which stays about 3 ms long: a repair takes one short round trip and overtakes the packets that wait; other traffic has a short queue, too | [`lasthop_hop::last_hop`], `hold_queue` |
//!
//! *Bypass:* data in order and its acknowledgments bypass the agent while no packet waits and none
//! is missing (`fast_path`): a gateway's kernel forwards them.
//!
//! *A hop without losses* (a run of 1,000 segments without a loss; [`lasthop_hop::last_hop`]) that
//! has no queue or delivers more than 1 Gbit/s is only watched: no packet waits for room, and the
//! agent needs only the headers of packets that bypass it, so their data is not cached. The sender
//! sees the first loss and repairs it. After that, data is cached again until the hop has delivered
//! twice as many segments without a loss.
//!
//! *A sender that does as well without the agent* (`steps-aside`, `short_path`): its path to the
//! agent is no longer than the hop, so that it repairs losses nearly as soon as the agent could,
//! and losses leave it twice the window that it uses. Its connection passes unchanged.
//!
//! *It fails open.* The sender receives no acknowledgment of data that the receiver does not have:
//! no early ACK, no SACK block that the receiver did not send. Packets that wait in the agent are
//! not acknowledged, so an agent that fails loses some packets, like a queue that is flushed.
//! [`Transfer::drain`](lasthop_agent::Transfer::drain) sends all waiting packets.
//!
//! *The sender's order is kept.* The agent's copies overtake waiting packets; the sender's
//! retransmissions do not: if one were delivered before packets that left the sender earlier and
//! wait here, RACK would mark all of those as lost. If the receiver sends no SACK blocks,
//! retransmissions do overtake: RACK has no information there, and only the segment that the
//! receiver waits for can open the window.
//!
//! *Congestion stays a signal.* If the packets of a connection wait longer than `held-delay`, the
//! agent drops the first waiting packet, uncached, and no other of that window; if the sender does
//! not slow down, drops become less frequent. Packets in excess of four times that delay are
//! dropped. A loss of uncached data is never withheld.
//!
//! *A silent receiver.* Octets that were on the hop when the timer expired no longer count in the
//! window, which other connections to the same address share; those may belong to another device
//! behind that address. Until the receiver answers, it gets copies and the sender's
//! retransmissions, and its waiting packets stay. Once the retransmissions are used up, the waiting
//! packets are dropped, and all later packets pass.
//!
//! *A smaller MTU downstream of the hop* (`path_mtu`): once a router reports it, or the sender
//! retransmits data in smaller segments, the agent discards its cached copies. The sender repairs
//! those losses, which it sees as it would without an agent.
//!
//! # What the paper and the code leave open, and what we chose
//!
//! *Octets.* ns-2 numbers packets. Here an ACK may cover a part of a cached packet (a super-packet
//! of segmentation offload, or different segment boundaries in a retransmission). The remainder
//! then counts as a packet that was not retransmitted yet, and a copy carries only the octets that
//! the receiver misses: from the acknowledgment number up to the first SACK block.
//!
//! *Duplicate ACKs.* RFC 5681, section 2, and later extensions. An ACK is not a duplicate, and is
//! never suppressed, if it carries data, any flag but ACK (SYN, FIN, RST, and ECE and CWR, which
//! signal congestion in ECN and accurate ECN), an unknown option (such as those of MPTCP), a window
//! that differs from the last, a zero window (it keeps a sender in persist state alive), or a
//! report of duplicate data (RFC 2883: it is reported only once). Other SACK information in a
//! suppressed ACK is not lost: the receiver repeats it, within the three or four blocks of an
//! option (RFC 2018, section 4). An ACK that changes the window and reports SACK blocks is still a
//! sign of loss (RFC 6675, section 2): real receivers open the window while they hold data above a
//! hole. It counts, and triggers the repair, but passes.
//!
//! *Timestamps.* If a segment overtakes older ones and carries a newer TSval, PAWS (RFC 7323,
//! section 5.3) rejects the older ones from then on: after one retransmission by the sender every
//! older copy in the cache would be useless. So a copy leaves with the highest TSval already sent
//! to the receiver. The sender then measures (section 4.1) the time since that later packet left
//! it: a true round-trip time of the path, without the time of the repair. Its RTO does not include
//! the time of local repairs, and it cannot mistake the echo for that of its first transmission
//! (Eifel, RFC 3522). The copy keeps its old acknowledgment number, window and TSecr; receivers
//! ignore the first two because they are old (RFC 9293, section 3.10.7.4).
//!
//! *Zero window.* The timer does not retransmit into a closed window; probes are left to the
//! sender.
//!
//! *Beginning and end.* State begins with the first data from the core side, never with a SYN, so
//! that a SYN flood takes no memory and a connection older than the agent is served, too. Until an
//! ACK is seen, the first cached packet is assumed to be the one that the receiver waits for. A SYN
//! from either side resets the state, and so do sequence numbers more than 2^30 away. A RST from
//! either side ends the state, and so does an ACK of the sender's FIN; a FIN from the mobile host
//! does not, since data may still flow to it. A connection without packets is forgotten after
//! `idle-timeout`.
//!
//! *Unchanged:* urgent data, segments with unknown options (signatures, MPTCP), ACKs of data that
//! never passed, and everything that is not TCP. Apart from its own copies, the agent edits two
//! fields, and only in segments without unknown options: the TSval of a segment that has waited,
//! and the SACK blocks of an ACK.
//!
//! # Where the default harms, or gains little
//!
//! - A sender whose RTO is shorter than the local time-out may repair faster without the agent, and
//!   its RTO grows.
//! - The local window has a target delay. If another sender fills the queue downstream, it keeps
//!   only the share that it has at that time.
//! - On a hop without losses for a long time, the first loss shrinks the sender's window.
//! - It cannot read `IPsec` or QUIC, needs both directions to pass, and starts without state after
//!   a hand-off.

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
