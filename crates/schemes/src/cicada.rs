//! CICADA: the access point splits each connection between a wired and a wireless end in two, with
//! the ends' own addresses and sequence numbers.
//!
//! K. Ghaboosi, B. H. Khalaj, "A Novel Transport Agent for Wireless Routers to Improve TCP and UDP
//! Performance over Wireless Links", IEEE PIMRC 2005 ("the paper"). The scheme runs at the access
//! point; both ends are unchanged. This is its data path; hand-off and address translation are not
//! implemented.
//!
//! # The paper's terms, and where they are implemented
//!
//! | section II and III | here |
//! |---|---|
//! | CICADA table; only traffic between wired and wireless is managed | [`interfaces`] |
//! | a connection is detected in either phase of its handshake, opened from either side | `lasthop_hop::split::opening` |
//! | virtual stack: a virtual TCP in place of each end | the legs of `lasthop_hop::split::pair`; all connections to a mobile host share its hop, [`lasthop_hop::last_hop`] |
//! | `VCache` for each direction, whose free space is the window | `lasthop_hop::split::vcache` |
//! | Joint-Table: both ends' addresses and own sequence numbers | `lasthop_hop::split::pair`: each leg uses the other end's numbers, so that no translation is needed |
//! | TEMP space, USE flags: the output of stored data | `lasthop_hop::split::turns`: a turn on its hop for a leg with data to send |
//! | a duplicate ACK is answered from the `VCache` | the leg's loss recovery. If the `VCache` does not have the data, the ACK is forwarded in `lasthop_hop::split::packets`: always as published (`route-duplicates`), by default only the answer to a keep-alive probe (see 13) |
//! | windows similar to those of 4.3BSD, except for the offered one | as published: `windows = "4.3bsd"`, [`lasthop_hop::split::legs::bsd`] |
//! | selective acknowledgments towards both ends | both legs, if both ends offer them |
//! | removal when the connection is released | `lasthop_hop::split::relay` |
//! | virtual IP layers for datagrams, and a pointer for each stream; no buffering | an entry of `streams` |
//! | RTP and RTCP are captured and sampled each `T_RTP` | `streams::source`, `streams::clock` |
//! | round trips of both legs; expired packets are discarded | `streams::legs`, `streams::transit`, `streams::lateness` |
//! | the agreed quality | `quality`: settings, the same for all calls |
//! | bandwidth for elastic and for real-time traffic | `calls-first`: [`lasthop_hop::split::Splits::hold_back`], `lasthop_hop::last_hop::shared` |
//!
//! With `preset = "published"` the windows are those of 4.3BSD, separate for each connection. The
//! paper's results are for "bandwidth allocation", of which the text describes only that expired
//! packets of calls are discarded; so `calls-first` is off there. The required quality of calls is
//! the same in both presets, because the paper states no value.
//!
//! # What the paper leaves open, and what we chose
//!
//! 1. *The handshake* passes end to end, and the legs begin once it is complete. So an end's
//!    refusal reaches the other end, a SYN flood costs only one entry each, and both legs have the
//!    options and window scales that the ends negotiated.
//! 2. *Early ACKs.* A leg acknowledges the data that it accepts, and no other: at most `vcache`
//!    octets of each direction are at risk at a time, usually twice the capacity of the hop and the
//!    wired path.
//! 3. *A FIN* is acknowledged when the other end has acknowledged it. A sender that closes and
//!    receives that ACK knows that all was delivered, whatever happens to the access point: only a
//!    connection that breaks before that can have lost acknowledged data.
//! 4. *Timestamps* that a leg sends in an end's name are the latest that this end has sent: never
//!    ahead of its own clock. A leg chooses its echoes itself, as it has to.
//! 5. *The leg over the hop*, by default, does not treat loss as congestion. The data on the hop is
//!    limited by the [local window](lasthop_hop::last_hop) that all connections of a mobile host
//!    share, and the retransmission time-out is 20 ms or little more than a round trip over the
//!    hop. The leg over the wired path is a sender as in Linux.
//! 6. *Uploads.* After a loss the next 16 segments from the hop are acknowledged one by one;
//!    otherwise every second one is. A mobile host that reduced its window for a loss on the hop is
//!    notified (`notification`): see [`crate::eln`], which lists the exceptions.
//! 7. *Connections left alone:* a SYN with data (TCP Fast Open), a SYN-ACK with unknown options
//!    (Multipath TCP, authentication, a cookie) or with accurate ECN, simultaneous open, and
//!    connections whose handshake passed before the agent started.
//! 8. *Keep-alive probes* go to the probed end, and its answer goes back: an access point that
//!    answered would keep a connection alive whose end is gone. For the same reason no data is
//!    acknowledged in the name of an end that has been silent for a while: see
//!    `lasthop_hop::split::liveness`.
//! 9. *Urgent data* keeps its place: both legs carry the urgent pointer.
//! 10. *Calls.* RTP in both directions is a call; only packets of calls are discarded, and never
//!     for longer than `sampling-interval`. During a call, connections leave room for it: those of
//!     all mobile hosts share one window over the hop, whose target is a queue of four segments, of
//!     at least `local-delay` and at most a quarter of `call-variation`; senders towards mobile
//!     hosts are offered what the hop takes, and mobile hosts that send a window of the same size.
//!     Hosts take turns, and so do the connections of each. All hosts of an agent are assumed to
//!     share a queue, even if they are behind several interfaces.
//! 11. *The agreed quality* is not learned: RTP and RTCP do not carry it (see `quality`).
//!     `call-delay` and `call-variation` state it for all calls.
//! 12. *`T_RTP`* is `sampling-interval`: how often a stream is compared with the quality, for how
//!     long a queue seen on the hop counts, and the maximum time for which packets of a stream are
//!     discarded. Each packet is judged, not one per interval at random.
//! 13. *A duplicate ACK for data that is not in the `VCache`* ends here by default. A leg has every
//!     octet that its end may miss, and sends them in order, so no end needs one from the other
//!     end: such an ACK answers a needless copy by the leg. Three of them, if forwarded, would make
//!     the other end retransmit and reduce its window. If packets bypass the agent, ACKs do, too
//!     (`lasthop_hop::split::passed_by`).
//!
//! # When the agent stops
//!
//! A connection without octets at risk continues end to end. One with octets at risk has a gap that
//! no end can fill: it ends with a time-out at the latest when the sender gives up, after 15
//! minutes with Linux defaults. No stream that closes normally has a gap (3). A gateway that is
//! stopped or reloaded waits for the octets at risk, or hands them over
//! ([`Obligation::Owes`](lasthop_agent::Obligation::Owes)).
//!
//! # Where it harms, or gains little
//!
//! - It acknowledges for both ends: data that it has acknowledged is lost if the access point
//!   fails.
//! - The first octets to an end that was silent for a second are acknowledged a round trip over the
//!   other leg later than those that follow.
//! - A path that is longer than `vcache` allows for is slower than without it: 2.5 MB and 100 ms
//!   are 200 Mbit/s.
//! - On a hop without losses there is little to gain.
//! - Many mobile hosts behind one short queue: without calls there is one window for each host, and
//!   no loss counts as congestion. On a saturated cell of 802.11b with a queue of 50 packets pages
//!   then take longer than without it.
//! - During calls, TCP gives up goodput for them if the hop is full, and more if the hop's delay
//!   varies for other reasons than its queue: such a delay is mistaken for a queue.
//! - The queue downstream of the access point is known only while connections go to the same mobile
//!   host, or share a window with those that do. As published no window shows it. Without them a
//!   packet is judged by its arrival time, and by RTCP.
//! - `vcache` is more than the default budget of a connection (4 MiB of memory) has room for: at
//!   most about 2.5 MB are in flight.

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
