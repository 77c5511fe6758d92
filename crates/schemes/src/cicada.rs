//! CICADA: the access point splits each connection between a wired and a wireless end in two, in
//! the ends' own addresses and sequence numbers.
//!
//! K. Ghaboosi, B. H. Khalaj, "A Novel Transport Agent for Wireless Routers to Improve TCP and UDP
//! Performance over Wireless Links", IEEE PIMRC 2005 ("the paper"). Place: the access point. Both
//! ends stay as they are. This is its data path; hand-off and address translation are still to
//! come.
//!
//! # The paper's words, and where they are
//!
//! | section II and III | here |
//! |---|---|
//! | CICADA table; only traffic between wired and wireless is managed | [`interfaces`] |
//! | a connection is met at either phase of its handshake, opened from either side | `lasthop_hop::split::opening` |
//! | virtual stack: a virtual TCP in each end's place | the legs of `lasthop_hop::split::pair`; what all connections to a mobile host share is its hop, [`lasthop_hop::last_hop`] |
//! | `VCache` for each direction, whose free space is the window | `lasthop_hop::split::vcache` |
//! | Joint-Table: both ends' addresses and own sequence numbers | `lasthop_hop::split::pair`: each leg goes on with the other end's numbers, so that nothing is translated |
//! | TEMP space, USE flags: where what is stored goes out | `lasthop_hop::split::turns`: a turn on its hop for a leg with something to send |
//! | a duplicate ACK is answered from the `VCache` | the leg's loss recovery. Where that has nothing of it, it is routed on in `lasthop_hop::split::packets`: as published any (`route-duplicates`), by default only the answer to a keep-alive probe (see 13) |
//! | windows similar to those of 4.3BSD, but for the one that is offered | as published: `windows = "4.3bsd"`, [`lasthop_hop::split::legs::bsd`] |
//! | selective acknowledgments towards both ends | both legs, if both ends offer them |
//! | removal when the connection is released | `lasthop_hop::split::relay` |
//! | virtual IP layers for datagrams, and a pointer for each stream; no buffering | an entry of `streams` |
//! | RTP and RTCP are captured and sampled each `T_RTP` | `streams::source`, `streams::clock` |
//! | round trips of both legs; packets that are out of date are discarded | `streams::legs`, `streams::transit`, `streams::lateness` |
//! | the quality that was agreed on | `quality`: settings, the same for all calls |
//! | bandwidth for elastic and for real-time traffic | `calls-first`: [`lasthop_hop::split::Splits::hold_back`], `lasthop_hop::last_hop::shared` |
//!
//! With `preset = "published"` the windows are those of 4.3BSD, each connection's by itself. The paper's
//! results are for "bandwidth allocation", of which the text describes only that packets of calls which
//! are out of date are discarded; so `calls-first` is off there. The quality that calls have to keep is
//! the same in both forms, because the paper states no value.
//!
//! # What the paper leaves open, what we chose
//!
//! 1. *The handshake* passes from end to end, and the legs begin once it is complete. So an end
//!    that refuses is heard, a flood of SYNs costs an entry each and no more, and both legs have
//!    the options and window scales that the ends know of each other.
//! 2. *Early ACKs.* What a leg has taken in it acknowledges, and what it cannot take it does not:
//!    at most `vcache` octets of each direction are at risk at a time, usually twice what the hop
//!    and the wire hold.
//! 3. *A FIN* is acknowledged when the other end has acknowledged it. A sender that closes and
//!    hears that all was received is right, whatever happens to the access point: only a connection
//!    that is cut off in the middle can have lost something that was acknowledged.
//! 4. *Timestamps* that a leg sends in an end's name are the latest that this end has sent: never
//!    ahead of its own clock. What a leg echoes is its own business, as it has to be.
//! 5. *The leg over the hop*, by default, takes no loss for congestion. How much is on the hop is the [local
//!    window](lasthop_hop::last_hop) that all connections of a mobile host share, and its retransmission
//!    timer is 20 ms or little more than a round trip over the hop. The leg over the wire is a
//!    sender as Linux has it.
//! 6. *Uploads.* After a loss the next 16 segments off the hop are acknowledged one by one; else every
//!    second one is. A mobile host that reduced its window for a loss of the hop is told so
//!    (`notification`): see [`crate::eln`], which says of what it is not told.
//! 7. *What is left alone:* a SYN with data (TCP Fast Open), an answer with options that are
//!    unknown here (Multipath TCP, authentication, a cookie) or with accurate ECN, both ends
//!    opening at once, and connections whose handshake passed before the agent was there.
//! 8. *Keep-alive probes* go to the end that is asked, and its answer goes back: an access point
//!    that answered would keep a connection alive whose end is gone. For the same reason nothing is
//!    acknowledged in the name of an end that was not heard from lately: see `lasthop_hop::split::presence`.
//! 9. *Urgent data* keeps its place: both legs carry the urgent pointer.
//! 10. *Calls.* RTP in both directions is a call; only of a call is anything given up, and never
//!     for longer than `sampling-interval`. While there is one, connections leave room for it:
//!     those of all mobile hosts share one window over the hop, which aims at a queue of four
//!     segments, of at least `local-delay` and at most a quarter of `call-variation`; the ends that
//!     send towards them are offered what the hop takes, and mobile hosts that send a window of the
//!     same size. Hosts take turns, and so do the connections of each. All hosts of an agent are taken to
//!     share a queue, even if they are behind several interfaces.
//!
//! 11. *The agreed quality* is not learned: RTP and RTCP carry none (see `quality`). `call-delay` and
//!     `call-variation` state it for all calls.
//! 12. *`T_RTP`* is `sampling-interval`: how often a stream is held against the quality, for how long the
//!     queue that was seen on the hop counts, and the longest time for which packets of a stream are given
//!     up. Within it each packet is judged, not one at random.
//!
//! 13. *A duplicate ACK for what is not in the `VCache`* ends here by default. A leg has every octet that its end may
//!     lack, and sends them in order, so no end asks for one that the other end would have to send: such an
//!     ACK answers a copy of the leg's own that was needless. Three of them routed on would make the other
//!     end retransmit and reduce its window. Where packets go past the agent, ACKs do, too
//!     (`lasthop_hop::split::passed_by`).
//!
//! # When the agent goes away
//!
//! A connection of which nothing is at risk goes on from end to end. One with octets at risk has a
//! gap that no end can fill: it ends with a time-out at the latest when the end that sends gives
//! up, 15 minutes with Linux as it comes. No stream that ends well has a gap (3). A gateway that is
//! told to stop, or to reload, waits for what is at risk, or hands it over
//! ([`Obligation::Owes`](lasthop_agent::Obligation::Owes)).
//!
//! # Where it does harm, or little
//!
//! - It speaks for both ends: what it has acknowledged is lost if the access point fails.
//! - The first octets to an end that was silent for a second are acknowledged a round trip over the
//!   other leg later than those that follow.
//! - A path that is longer than `vcache` allows for is slower than without it: 2.5 MB and 100 ms
//!   are 200 Mbit/s.
//! - Where the hop loses nothing there is little to gain.
//! - Many mobile hosts behind one short queue: without calls the windows are one for each host, and
//!   no loss counts as congestion. On a saturated cell of 802.11b with a queue of 50 packets pages
//!   then take longer than without it.
//! - While there are calls, TCP gives up goodput for them where the hop is full, and more where its
//!   delay varies by other causes than its queue: such a delay is taken for a queue.
//! - The queue behind the access point is known only while connections go to the same mobile host, or
//!   share a window with those that do. As published no window shows it. Without them a packet is judged by how it came, and by RTCP.
//! - `vcache` is more than the default budget of a connection (4 MiB of memory) has room for: about
//!   2.5 MB are under way at the most.

mod agent;
pub mod interfaces;
mod quality;
mod scheme;
mod settings;
mod streams;
#[cfg(test)]
mod tests;

pub use agent::Cicada;
pub use scheme::SCHEME;
pub use settings::{LegWindows, Settings};
pub use streams::{LATE, MISSED, SAMPLES};
