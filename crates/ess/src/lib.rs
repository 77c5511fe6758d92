//! An extended service set (ESS) of IEEE 802.11: several access points of one network, and stations that
//! associate with one of them and roam. The management entities of stations and access points are pure
//! state machines: frames, their signal and the time come in; frames, channel changes and associations
//! come out. The MAC that carries the frames is not their concern.
//!
//! | subject | IEEE 802.11-2020 | module |
//! |---|---|---|
//! | management frames and their lengths | 9.3.3 | [`frame`] |
//! | passive and active scan | 11.1.4 | `scan` |
//! | authentication, association, reassociation: the station | 11.3 | [`client`] |
//! | the same: the access point | 11.3 | [`access_point`] |
//! | BSS transition management | 11.21.7 | both |
//! | beacon requests and reports | 11.10.9.1 | both |
//! | a controller that spreads clients over access points | | [`controller`] |
//! | signal, and which access points a station has heard | | [`signal`], `neighbors` |
//!
//! The standard leaves the choice of an access point, and when to look for another one, to the station.
//! The defaults are those of Linux: mac80211 for the times of scans and the repetition of requests,
//! `wpa_supplicant` for the choice. Each is a field of [`ClientConfig`].
//!
//! Not modelled: the octets of frames (only their lengths), the cryptography of the handshakes (only
//! their frames), pre-authentication, radio measurements of 802.11k other than beacon reports.

pub mod access_point;
pub mod client;
pub mod controller;
pub mod frame;
mod neighbors;
mod scan;
pub mod signal;
#[cfg(test)]
mod tests;

pub use access_point::{AccessPoint, AccessPointConfig};
pub use client::{Client, ClientConfig};
pub use controller::{Controller, ControllerConfig, SteeringCounters};
pub use frame::{Frame, FrameSizes, Heard, Security};
pub use scan::{ScanConfig, ScanMethod};
pub use signal::Dbm;

/// The number of an access point in its ESS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessPointId(pub u32);

/// The number of a client, a station that is no access point, in its ESS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

/// A channel, by a number that all stations of the ESS know it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u16);
