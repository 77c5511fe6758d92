//! C3TCP, cross-layer congestion control: the 802.11 stations on a path of several radio hops measure
//! its bandwidth and its delay, and the sender's window is their product.
//!
//! D. Kliazovich, "Cross-Layer Performance Optimization in Wireless Local Area Networks",
//! dissertation, University of Trento 2006, chapter 4 ("the text").
//!
//! | rule | where it stands | file |
//! |---|---|---|
//! | the bandwidth of a hop is the data over the time that it took, from its arrival in the queue | 4.4.1, (4.1) to (4.5) | [`lasthop_agent::path`] |
//! | the forward delay begins when the packet leaves the queue, the backward delay when it comes there | 4.4.2 | [`lasthop_agent::path`] |
//! | the least bandwidth and the sum of the delays go hop by hop in options of frames | 4.4.3, (4.6), (4.7) | `options`, `agent` |
//! | the receiver's module echoes what came with the last packet that an ACK acknowledges | 4.4.4 | `receiver` |
//! | the sender's module sets the window of each ACK to bandwidth times delay, if that is less | 4.4.4 | `window` |
//!
//! Frames with options, who knows them, and how a sender falls back to standard frames: `lasthop_sim`'s
//! `wifi::options`. The scheduler of flows (4.4.5) and the routing metric (4.4.6) are a station's, with
//! or without this: `cells::flows` and `aodv::metric` there. TCP itself is as it was.
//!
//! # Where the text differs from the standard, and what we take
//!
//! Equations (4.4) and (4.5) have a MAC header of 30 octets and the body of an ACK at the data rate.
//! A frame between two stations has three addresses and 24 octets, an ACK goes at a basic rate
//! (IEEE 802.11-2012, 8.3.2, 9.7.6.5), and the options themselves take time. We take the air times that
//! the frames have.
//!
//! # What the text leaves open, what we chose, and why
//!
//! 1. *What counts as data.* D is TCP's payload: the window counts payload, so bandwidth times delay is
//!    in its unit. With headers the window would be 4% larger at 1000 octets and twice too large at 40.
//! 2. *Smoothing.* At each ACK an eighth of what is new and seven eighths of what was known, as TCP smooths its round
//!    trip (RFC 6298, section 2.3); bandwidth and delays each by themselves. One packet's back-off is no change of the path.
//!    `smoothing = 1` takes each packet's word, as the text seems to; chosen before any result
//!    of the text was looked at; what comes of it stands in `docs/src/validation/c3tcp.md`.
//! 3. *Floor of the window.* Two of the longest segment that the sender has sent. With less than one it would
//!    send nothing, and nothing would be measured any more; with one, each segment would wait for the
//!    timer of a receiver that delays its ACKs (RFC 9293, section 3.8.6.3).
//! 4. *Widths.* Bandwidth in 4 octets, in octets per second; delays in 4 octets, in microseconds. Both stop at
//!    their largest value. The two options of a frame are 12 and 16 octets long, with the header length: 1 to 2% of a frame of 1000.
//! 5. *Losses of ACKs.* Each ACK has all that is needed; one that is lost is not missed.
//! 6. *ACKs without options*, after a fall-back of the link layer: the window stays what it was for `lifetime`,
//!    three times the link layer's probe interval by default; then it is the receiver's own again.
//! 7. *Part of a path.* A packet that has come over a hop without options goes on without: the
//!    rest of a path would be taken for all of it.
//! 8. *MAC retransmissions* are in the time of a hop, as back-offs are. A frame that is given up measures nothing.
//! 9. *ACKs in data* have both options.
//! 10. *The module makes ACKs for the local TCP* (optional in the text): to make TCP's own window follow, data must
//!     be acknowledged that has not arrived, kept, and sent again if need be. That is LLE-TCP_CC:
//!     `{ stack = ["c3tcp", { scheme = "lle-tcp", sender-buffer = "64 KiB" }] }`. ACKs that it makes
//!     get the window of the path, too.
//!
//! # What is believed
//!
//! Options may be malformed, forged, or of another version: such an option is ignored and counted. What a
//! forged one can do is to set a window between two segments and the receiver's own.
//!
//! # Limits
//!
//! Windows are scaled as the handshake says; a connection whose handshake was not seen is left alone, and so is
//! one that goes on over a wire. No option tells of the wire: the product of the radio hops alone would be
//! the window of the whole path. An access point is a relay between its stations, and nothing else.

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
