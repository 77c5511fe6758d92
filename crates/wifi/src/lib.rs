//! IEEE 802.11: the distributed coordination function over the physical layers of 802.11, b, a, g, n, ac
//! and ax, with A-MPDUs, A-MSDUs and block acks.
//!
//! [`Wlan`] is a pure state machine: stations, each tuned to a channel or off the air
//! ([`Wlan::tune`]). It knows packets by a key and a length, and raw frames
//! ([`Wlan::enqueue_raw`]) likewise. The caller enqueues frames ([`Wlan::enqueue`]), calls
//! [`Wlan::on_event`] at the time of [`Wlan::next_event_at`], and takes the outputs ([`Wlan::poll`]).
//!
//! | module | what is in it |
//! |---|---|
//! | `wlan` | the state machine: its parts, and a frame's way through them |
//! | `medium` | which stations hear each other, frames in the air, the next transmission |
//! | `contender` | queues, backoffs, retry counts, rate control, exchanges |
//! | [`station`] | what a station has received, and what waits there for missing frames; with `knowledge`, which stations know options |
//! | `power_save` | beacons, stations that doze, frames that wait for them |
//! | [`errors`], [`propagation`] | frames lost without a collision; positions, ranges, capture |
//! | [`phy`], [`frame`] | rates, air times, interframe spaces; frames and their sizes |
//! | `own_frame` | frames that carry no packet: raw frames, PS-Polls |
//! | `events`, `output` | the event queue; the outputs |
//!
//! Clauses are those of IEEE 802.11-2020, unless another edition is named.
//!
//! The model differs from reality:
//! - Signals take no time to arrive.
//! - A station that counts down senses a transmission that began a slot before its own
//!   (`carrier_sense_delay`). A station that receives a frame to send senses at once whether the
//!   medium is idle.
//! - A frame does not disturb stations beyond its carrier-sense range, and none of other channels:
//!   channels do not overlap.
//! - A station changes its channel in no time, and `ProbeDelay` (11.1.4.3.2) is zero: it contends at
//!   once.
//! - A station senses a frame whose beginning it missed as it senses others. In reality such a frame
//!   has to be 20 dB stronger (17.3.10.6).
//! - With power save, stations stay on their channels.
//! - Frame errors are drawn for the addressee. Bystanders decode each frame in range that nothing
//!   overlaps.
//! - `EIFS` follows frames that were overlapped or out of reception range. It also follows for a
//!   station that transmitted while another's longer frame began; a station does not hear its own
//!   frames.
//! - A station that waits for a response waits until `ACKTimeout`, whatever else it hears.
//! - Without power save there are no beacons but the caller's. Association is the caller's, too.
//!   Fragmentation is not modeled. The only rate control is a fixed rate.
//! - Block ack agreements exist from the start, without ADDBA frames. After a missing block ack, all is sent again without
//!   a request. MPDUs need no minimum spacing. The Duration field of a frame covers one exchange, not the TXOP.
//! - Raw frames have sequence numbers of their own, as data frames with `QoS` have, and go before data
//!   of the same access category.

mod config;
mod contender;
pub mod errors;
mod events;
pub mod frame;
mod knowledge;
mod medium;
mod output;
mod own_frame;
pub mod phy;
mod power_save;
pub mod propagation;
mod rates;
pub mod station;
mod times;
mod wlan;

#[cfg(test)]
mod tests;

pub use config::{Aggregation, MacConfig, WlanConfig};
pub use contender::Aggregate;
pub use errors::{BitErrorRates, ErrorConfig, ErrorModel, UndisturbedFrame};
pub use frame::{DataOverhead, MacFrame, Receiver, StationId};
pub use output::{Fate, FrameTimes, Output, Used, WlanCounters};
pub use own_frame::RawFrame;
pub use phy::{Band, Format, GuardInterval, Mcs, PhyConfig, PpduDurations, Preamble, Rate, Standard, Width};
pub use power_save::PowerSaveConfig;
pub use propagation::{Capture, LogDistance, Position, Propagation, TwoRayGround};
pub use rates::{Rates, RetryChain};
pub use station::{Channel, Scheduler, StationConfig};
pub use wlan::Wlan;
