//! Management frames of an ESS, and their lengths (IEEE 802.11-2020, 9.3.3).

use crate::{AccessPointId, Channel, Dbm};

/// A frame between a client and an access point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Announces the access point, to all.
    Beacon,
    /// Asks the access points of a channel for probe responses; to all.
    ProbeRequest,
    /// Announces the access point to a client that has asked.
    ProbeResponse,
    /// Open System authentication: the request of a client (11.3.4.2).
    AuthenticationRequest,
    /// Its answer.
    AuthenticationResponse {
        /// Whether the access point accepts.
        accepts: bool,
    },
    /// Asks for an association.
    AssociationRequest {
        /// The access point that the client was associated with; with one it is a reassociation request.
        previous: Option<AccessPointId>,
    },
    /// Its answer.
    AssociationResponse {
        /// The association identifier (AID) from 1 to 2007; `None` if the access point refuses.
        aid: Option<u16>,
        /// Whether a four-way handshake follows, before which no data is carried.
        has_handshake: bool,
    },
    /// A message of the four-way handshake, from 1 to 4 (12.7.6): 1 and 3 come from the access point.
    Handshake(u8),
    /// Ends the association, from either side.
    Disassociation,
    /// No data: tells the access point whether the client is about to sleep or to leave the channel.
    Null {
        /// The Power Management bit.
        power_save: bool,
    },
    /// Asks a client which access points it receives on these channels, besides its own channel (9.6.6.2, with an AP
    /// channel report).
    BeaconRequest {
        /// The channels.
        channels: Vec<Channel>,
    },
    /// Its answer (9.6.6.3).
    BeaconReport {
        /// The access points, the strongest first; at most [`MAX_CANDIDATES`].
        heard: Vec<Heard>,
    },
    /// Asks a client to go to another access point (9.6.13.9), in the order of preference.
    TransitionRequest {
        /// The candidates, the preferred one first; at most [`MAX_CANDIDATES`].
        candidates: Vec<AccessPointId>,
    },
    /// Its answer (9.6.13.10).
    TransitionResponse {
        /// The access point that the client goes to; `None` if it stays.
        target: Option<AccessPointId>,
    },
}

/// An access point that a client receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The access point.
    pub access_point: AccessPointId,
    /// Its signal at the client.
    pub signal: Dbm,
}

/// The number of candidates in a BSS transition management request that fit into a frame of 255 octets of
/// elements: a neighbor report of 15 octets each.
pub const MAX_CANDIDATES: usize = 16;

/// How clients prove who they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// They do not: Open System authentication.
    #[default]
    Open,
    /// A pre-shared key: the four-way handshake follows each association.
    FourWayHandshake,
    /// Fast BSS transition (13): a reassociation carries the keys, and only the first association of a client has
    /// the four-way handshake.
    FastTransition,
}

/// The lengths of frames in octets, MAC header and FCS included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSizes {
    /// Octets of the name of the network, 0 to 32. Default 8.
    pub ssid: u8,
    /// The number of rates that the stations support. Default 12, for 802.11g.
    pub rates: u8,
    /// Octets of other elements in beacons, probe responses, association requests and responses. Default 26, those
    /// of WMM.
    pub others: u16,
    /// How clients prove who they are.
    pub security: Security,
}

impl Default for FrameSizes {
    fn default() -> Self {
        Self { ssid: 8, rates: 12, others: 26, security: Security::Open }
    }
}

/// MAC header of a management frame, and FCS (9.3.3.1).
const HEADER_AND_FCS: u32 = 24 + 4;

/// MAC header of a data frame, LLC and SNAP header, FCS.
const DATA_HEADER_AND_FCS: u32 = 24 + 8 + 4;

impl FrameSizes {
    /// The length of a frame.
    pub fn octets(self, frame: &Frame) -> u32 {
        let names = self.ssid_and_rates();
        let others = u32::from(self.others);
        let (rsn, transition) = match self.security {
            Security::Open => (0, 0),
            // RSN with one pairwise and one AKM suite (9.4.2.24).
            Security::FourWayHandshake => (22, 0),
            // With the name of a PMK; mobility domain and fast BSS transition elements (9.4.2.46, 9.4.2.47), the
            // latter with the names of two key holders.
            Security::FastTransition => (22 + 18, 5 + 84 + 50 + 8),
        };
        let body = match frame {
            // Timestamp, interval, capability; DSSS parameter set; TIM with one octet of bitmap.
            Frame::Beacon => 8 + 2 + 2 + names + 3 + 6 + rsn + others,
            Frame::ProbeResponse => 8 + 2 + 2 + names + 3 + rsn + others,
            Frame::ProbeRequest => names,
            Frame::AuthenticationRequest | Frame::AuthenticationResponse { .. } => 6 + transition + rsn,
            Frame::AssociationRequest { previous } => {
                let current = if previous.is_some() { 6 } else { 0 };
                2 + 2 + current + names + rsn + others + transition
            }
            Frame::AssociationResponse { .. } => 2 + 2 + 2 + self.rate_elements() + others + transition,
            Frame::Disassociation => 2,
            // Category, action, token, repetitions; a measurement request with the name of the network and the channels
            // (9.4.2.20.7).
            Frame::BeaconRequest { channels } => {
                5 + 5 + 13 + 2 + u32::from(self.ssid) + 3 + channels.len() as u32
            }
            // Category, action, token; a measurement report for each access point (9.4.2.21.7).
            Frame::BeaconReport { heard } => 3 + 31 * heard.len() as u32,
            // Category, action, token, mode, timers; a neighbor report for each candidate.
            Frame::TransitionRequest { candidates } => 7 + 15 * candidates.len() as u32,
            Frame::TransitionResponse { target } => 5 + if target.is_some() { 6 } else { 0 },
            Frame::Null { .. } => return 24 + 4,
            // An EAPOL-Key frame has 99 octets and its key data (12.7.2).
            Frame::Handshake(message) => {
                let data = match message {
                    2 => 22,
                    3 => 56,
                    _ => 0,
                };
                return DATA_HEADER_AND_FCS + 99 + data;
            }
        };
        HEADER_AND_FCS + body
    }

    fn ssid_and_rates(self) -> u32 {
        2 + u32::from(self.ssid) + self.rate_elements()
    }

    /// Up to eight rates, and the others in an element of their own (9.4.2.3, 9.4.2.13).
    fn rate_elements(self) -> u32 {
        2 + u32::from(self.rates) + if self.rates > 8 { 2 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_the_sums_of_their_fields() {
        let bare = FrameSizes { ssid: 0, rates: 4, others: 0, security: Security::Open };
        let cases = [
            (Frame::ProbeRequest, 28 + 2 + 6),
            (Frame::AuthenticationRequest, 34),
            (Frame::AssociationRequest { previous: None }, 28 + 4 + 2 + 6),
            (Frame::AssociationRequest { previous: Some(AccessPointId(1)) }, 28 + 10 + 2 + 6),
            (Frame::AssociationResponse { aid: Some(1), has_handshake: false }, 28 + 6 + 6),
            (Frame::Disassociation, 30),
            (Frame::Null { power_save: true }, 28),
            (Frame::Handshake(1), 36 + 99),
            (Frame::TransitionResponse { target: None }, 33),
            (Frame::BeaconRequest { channels: vec![Channel(36), Channel(40)] }, 28 + 23 + 2 + 3 + 2),
            (
                Frame::BeaconReport {
                    heard: vec![Heard { access_point: AccessPointId(1), signal: Dbm(-60) }; 2],
                },
                31 + 62,
            ),
        ];
        for (frame, octets) in cases {
            assert_eq!(bare.octets(&frame), octets, "{frame:?}");
        }
    }
}
