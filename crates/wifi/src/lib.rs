//! IEEE 802.11: the distributed coordination function over the physical layers of 802.11, b, a and
//! g.
//!
//! [`Wlan`] is a pure state machine: stations on one channel. It knows packets by a key and a
//! length; the caller puts frames in ([`Wlan::enqueue`]), calls [`Wlan::on_event`] when
//! [`Wlan::next_event_at`] says so, and asks what happened ([`Wlan::poll`]).
//!
//! | module | what is in it |
//! |---|---|
//! | `wlan` | the state machine: its parts, and a frame's way through them |
//! | `medium` | who hears whom, what is in the air, who transmits next |
//! | `contender` | queues, back-offs, retry counters, rate control, exchanges |
//! | [`station`] | duplicate filters, and with `knowledge` who knows options |
//! | `power_save` | beacons, stations that doze, what waits for them |
//! | [`errors`], [`propagation`] | frames lost without a collision; positions, ranges, capture |
//! | [`phy`], [`frame`] | rates, air times, inter-frame spaces; frame sizes |
//! | `events`, `reports` | what is to come, what is told |
//!
//! What is modelled otherwise than on the air:
//! - Signals take no time to arrive.
//! - A station that counts down senses what began a slot before its own transmission
//!   (`carrier_sense_delay`); one to which a frame comes senses at once whether the medium is idle.
//! - Frames that do not reach carrier-sense range do not disturb.
//! - Frame errors are drawn for the addressee. Bystanders hear every frame in range that nothing
//!   overlaps.
//! - `EIFS` follows frames that were overlapped or out of reception range. A station that
//!   transmitted while another's longer frame began keeps it, too; its own frames it does not hear.
//! - A station that waits for a response waits until `ACKTimeout`, whatever else it hears.
//! - Without power save there are no beacons. Association, fragmentation and rate control (but
//!   for fixed rates) are not modelled.

mod config;
mod contender;
pub mod errors;
mod events;
pub mod frame;
mod knowledge;
mod medium;
mod output;
pub mod phy;
mod power_save;
pub mod propagation;
mod reports;
pub mod station;
mod times;
mod wlan;

#[cfg(test)]
mod tests;

pub use config::{MacConfig, WlanConfig};
pub use errors::ErrorConfig;
pub use frame::{DataOverhead, MacFrame, Receiver, StationId};
pub use output::{Fate, FrameTimes, Output, Used, WlanCounters};
pub use phy::{PhyConfig, Preamble, Rate, Standard};
pub use power_save::PowerSaveConfig;
pub use propagation::{Capture, Position, Propagation, TwoRayGround};
pub use station::{Scheduler, StationConfig};
pub use wlan::Wlan;
