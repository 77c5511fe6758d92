//! C3TCP, cross-layer congestion control: the 802.11 stations on a path of several radio hops
//! measure its bandwidth and its delay, whose product is the sender's window.
//!
//! D. Kliazovich, "Cross-Layer Performance Optimization in Wireless Local Area Networks",
//! dissertation, University of Trento 2006, chapter 4 ("the text").
//!
//! | rule | source | file |
//! |---|---|---|
//! | the bandwidth of a hop is the data divided by its time on the hop, from its arrival in the queue | 4.4.1, (4.1) to (4.5) | [`lasthop_agent::path`] |
//! | the forward delay begins when the packet leaves the queue, the backward delay when it enters the queue | 4.4.2 | [`lasthop_agent::path`] |
//! | the minimum bandwidth and the sum of the delays are passed hop by hop in options of frames | 4.4.3, (4.6), (4.7) | `options`, `agent` |
//! | the receiver's module echoes the values of the last packet that an ACK acknowledges | 4.4.4 | `receiver` |
//! | the sender's module sets the window of each ACK to bandwidth times delay, if that is less | 4.4.4 | `window` |
//!
//! Frames with options, which stations know them, and how a sender falls back to standard frames:
//! `lasthop_sim`'s `wifi::options`. The scheduler of flows (4.4.5) and the routing metric (4.4.6)
//! belong to a station, with or without this scheme: `cells::flows` and `aodv::metric` there. TCP
//! itself is unchanged.
//!
//! # Where the text differs from the standard, and what we chose
//!
//! Equations (4.4) and (4.5) have a MAC header of 30 octets and the body of an ACK at the data
//! rate. A frame between two stations has three addresses and 24 octets, an ACK is sent at a basic
//! rate (IEEE 802.11-2012, 8.3.2, 9.7.6.5), and the options themselves take time. We take the
//! airtime that the frames have.
//!
//! # What the text leaves open, and what we chose
//!
//! 1. *Data.* D is TCP's payload: the window counts payload, so bandwidth times delay has the same
//!    unit. With headers the window would be 4% larger at 1000 octets and twice too large at 40.
//! 2. *Smoothing.* Each ACK contributes one eighth to the estimate, as TCP smooths its round trip
//!    (RFC 6298, section 2.3); bandwidth and delays separately. One packet's back-off is not a
//!    change of the path. `smoothing = 1` takes each packet's values, as the text seems to; the
//!    default was chosen before any result of the text was examined; its results are in
//!    `docs/src/validation/c3tcp.md`.
//! 3. *Minimum window.* Two of the longest segment that the sender has sent. With less than one it
//!    would send nothing, and nothing would be measured any more; with one, each segment would wait
//!    for the timer of a receiver with delayed ACKs (RFC 9293, section 3.8.6.3).
//! 4. *Widths.* Bandwidth in 4 octets, in octets per second; delays in 4 octets, in microseconds.
//!    Both saturate at their maximum. The two options of a frame have 12 and 16 octets, with the
//!    header length: 1 to 2% of a frame of 1000.
//! 5. *Losses of ACKs.* Each ACK contains all values; a lost one needs no replacement.
//! 6. *ACKs without options*, after a fall-back of the link layer: the window stays the same for
//!    `lifetime`, three times the link layer's probe interval by default; then it is the receiver's
//!    own again.
//! 7. *Part of a path.* A packet that has passed a hop without options continues without them: the
//!    rest of a path would be mistaken for all of it.
//! 8. *MAC retransmissions* count in the time of a hop, as back-offs do. A frame that is given up
//!    gives no measurement.
//! 9. *ACKs in data* have both options.
//! 10. *The module makes ACKs for the local TCP* (optional in the text): to make TCP's own window
//!     follow, data must be acknowledged before it arrives, kept, and retransmitted if needed. That
//!     is LLE-TCP_CC: `{ stack = ["c3tcp", { scheme = "lle-tcp", sender-buffer = "64 KiB" }] }`.
//!     Its ACKs get the window of the path, too.
//!
//! # Plausibility
//!
//! Options may be malformed, forged, or of another version: such an option is ignored and counted.
//! A forged one can only set a window between two segments and the receiver's own.
//!
//! # Limits
//!
//! Windows are scaled as negotiated in the handshake; a connection whose handshake was not seen is
//! left alone, and so is one that continues over a wired path. No option covers that path: the
//! product of the radio hops alone would become the window of the complete path. An access point is
//! only a relay between its stations.

mod agent;
mod flow;
pub mod options;
mod receiver;
mod scheme;
mod settings;
mod transfer;
mod window;

#[cfg(test)]
mod tests;

pub use agent::C3tcp;
pub use options::MALFORMED_OPTIONS;
pub use scheme::SCHEME;
pub use settings::Settings;
