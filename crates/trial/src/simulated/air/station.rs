//! A simulated station beside the kernel's radios: the part of its MAC layer above the distributed coordination function, as
//! far as an open network needs it (IEEE 802.11-2020, 11.3). It associates with the access point whose beacons it hears, and
//! carries the packets of its host.

/// The first octets of frame controls.
const ASSOCIATION_REQUEST: u8 = 0x00;
const ASSOCIATION_RESPONSE: u8 = 0x10;
const BEACON: u8 = 0x80;
const DISASSOCIATION: u8 = 0xa0;
const AUTHENTICATION: u8 = 0xb0;
const DEAUTHENTICATION: u8 = 0xc0;
const DATA: u8 = 0x08;
const QOS_DATA: u8 = 0x88;
/// Of their second octets.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const PROTECTED: u8 = 0x40;
/// Octets of a MAC header with three addresses.
const HEADER: usize = 24;
/// Octets of a beacon before its elements: a timestamp, the interval, and the capabilities.
const BEFORE_ELEMENTS: usize = 12;
/// Capabilities: a station of an infrastructure network, short preambles, short slots.
const CAPABILITIES: [u8; 2] = [0x21, 0x04];
/// Listens to every tenth beacon, at least.
const LISTEN_INTERVAL: [u8; 2] = [10, 0];
/// Elements.
const SSID: u8 = 0;
const SUPPORTED_RATES: u8 = 1;
const EXTENDED_SUPPORTED_RATES: u8 = 50;
/// The most rates of the element of supported rates.
const MOST_SUPPORTED: usize = 8;
/// The header of LLC and SNAP for IPv4 (RFC 1042).
const IPV4: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];
/// Beacons after which a handshake that does not go on begins again.
const PATIENCE: u8 = 10;
/// The most sequence numbers.
const SEQUENCE_NUMBERS: u16 = 1 << 12;

/// A station.
#[derive(Clone, Debug)]
pub(super) struct Station {
    address: [u8; 6],
    ssid: String,
    /// In units of 500 kbit/s.
    rates: Vec<u8>,
    state: State,
    /// The BSSID of the access point whose beacons it hears.
    access_point: [u8; 6],
    /// Beacons since it has sent a frame of the handshake.
    beacons: u8,
    sequence: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unauthenticated,
    Authenticated,
    Associated,
}

/// What a frame means to a station.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard<'a> {
    /// Nothing.
    Nothing,
    /// It sends this frame.
    Answer(Vec<u8>),
    /// A packet of IPv4 for its host.
    Packet(&'a [u8]),
}

impl Station {
    /// A station with this address and these rates, in kbit/s, that looks for this network.
    pub(super) fn new(address: [u8; 6], ssid: String, rates: impl Iterator<Item = u64>) -> Self {
        let rates = rates.map(|kbps| (kbps / 500) as u8).collect();
        let state = State::Unauthenticated;
        Self { address, ssid, rates, state, access_point: [0; 6], beacons: PATIENCE, sequence: 0 }
    }

    /// A frame has arrived, without FCS.
    pub(super) fn hear<'a>(&mut self, frame: &'a [u8]) -> Heard<'a> {
        let Some((header, body)) = frame.split_at_checked(HEADER) else { return Heard::Nothing };
        let (kind, flags) = (header[0], header[1]);
        let is_for_this = header[4..10] == self.address;
        let is_of_its_network = header[10..16] == self.access_point && is_for_this;
        match kind {
            BEACON if self.state != State::Associated && self.is_of_network(body) => {
                if self.beacons < PATIENCE {
                    self.beacons += 1;
                    return Heard::Nothing;
                }
                self.access_point.copy_from_slice(&header[10..16]);
                self.state = State::Unauthenticated;
                // The open system, its first frame, no status.
                Heard::Answer(self.management(AUTHENTICATION, &[0, 0, 1, 0, 0, 0]))
            }
            // The open system, its second frame, success.
            AUTHENTICATION if is_of_its_network && body.starts_with(&[0, 0, 2, 0, 0, 0]) => {
                self.state = State::Authenticated;
                Heard::Answer(self.association_request())
            }
            ASSOCIATION_RESPONSE
                if is_of_its_network
                    && self.state == State::Authenticated
                    && body.get(2..4) == Some(&[0, 0]) =>
            {
                self.state = State::Associated;
                Heard::Nothing
            }
            DISASSOCIATION | DEAUTHENTICATION if is_of_its_network => {
                self.state = State::Unauthenticated;
                self.beacons = PATIENCE;
                Heard::Nothing
            }
            DATA | QOS_DATA if is_of_its_network && flags & (FROM_DS | TO_DS | PROTECTED) == FROM_DS => {
                let body = if kind == QOS_DATA { body.get(2..).unwrap_or_default() } else { body };
                body.strip_prefix(&IPV4).map_or(Heard::Nothing, Heard::Packet)
            }
            _ => Heard::Nothing,
        }
    }

    /// The frame with a packet of its host for the access point; `None` for other packets than those of IPv4, and as long as
    /// it is not associated.
    pub(super) fn send(&mut self, packet: &[u8]) -> Option<Vec<u8>> {
        let is_v4 = packet.first().is_some_and(|first| first >> 4 == 4);
        if self.state != State::Associated || !is_v4 {
            return None;
        }
        Some([&self.header([DATA, TO_DS])[..], &IPV4, packet].concat())
    }

    /// Whether a beacon with this body is of its network.
    fn is_of_network(&self, body: &[u8]) -> bool {
        let Some([SSID, len, rest @ ..]) = body.get(BEFORE_ELEMENTS..) else { return false };
        rest.get(..usize::from(*len)) == Some(self.ssid.as_bytes())
    }

    fn association_request(&mut self) -> Vec<u8> {
        let (first, others) = self.rates.split_at(self.rates.len().min(MOST_SUPPORTED));
        let mut body = [CAPABILITIES, LISTEN_INTERVAL].concat();
        for (id, value) in
            [(SSID, self.ssid.as_bytes()), (SUPPORTED_RATES, first), (EXTENDED_SUPPORTED_RATES, others)]
        {
            if id != EXTENDED_SUPPORTED_RATES || !value.is_empty() {
                body.extend([id, value.len() as u8]);
                body.extend(value);
            }
        }
        self.management(ASSOCIATION_REQUEST, &body)
    }

    fn management(&mut self, kind: u8, body: &[u8]) -> Vec<u8> {
        self.beacons = 0;
        [&self.header([kind, 0])[..], body].concat()
    }

    /// A header to the access point, also as the destination.
    fn header(&mut self, control: [u8; 2]) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..2].copy_from_slice(&control);
        header[4..10].copy_from_slice(&self.access_point);
        header[10..16].copy_from_slice(&self.address);
        header[16..22].copy_from_slice(&self.access_point);
        header[22..].copy_from_slice(&(self.sequence << 4).to_le_bytes());
        self.sequence = (self.sequence + 1) % SEQUENCE_NUMBERS;
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS_POINT: [u8; 6] = [2, 0, 0, 0, 0, 0];
    const OWN: [u8; 6] = [2, 0x6c, 0x68, 0x73, 0, 1];

    fn station() -> Station {
        Station::new(OWN, "lasthop-0".to_owned(), [1000, 2000, 5500, 11_000].into_iter())
    }

    fn frame(control: [u8; 2], to: [u8; 6], body: &[u8]) -> Vec<u8> {
        [&control[..], &[0; 2], &to, &ACCESS_POINT, &ACCESS_POINT, &[0; 2], body].concat()
    }

    fn beacon(ssid: &str) -> Vec<u8> {
        let elements = [&[SSID, ssid.len() as u8], ssid.as_bytes()].concat();
        frame([BEACON, 0], [0xff; 6], &[&[0; BEFORE_ELEMENTS][..], &elements].concat())
    }

    fn associated() -> Station {
        let mut station = station();
        let Heard::Answer(_) = station.hear(&beacon("lasthop-0")) else { panic!("it authenticates") };
        let Heard::Answer(_) = station.hear(&frame([AUTHENTICATION, 0], OWN, &[0, 0, 2, 0, 0, 0])) else {
            panic!("it associates")
        };
        let response = frame([ASSOCIATION_RESPONSE, 0], OWN, &[0x21, 4, 0, 0, 1, 0xc0]);
        assert_eq!(station.hear(&response), Heard::Nothing);
        station
    }

    #[test]
    fn a_station_associates_with_the_network_that_it_looks_for() {
        let mut station = station();
        assert_eq!(station.hear(&beacon("lasthop-00")), Heard::Nothing);
        assert_eq!(station.send(&[0x45; 20]), None, "it is not associated");
        let Heard::Answer(authentication) = station.hear(&beacon("lasthop-0")) else { panic!("it answers") };
        assert_eq!((authentication[0], &authentication[4..10]), (AUTHENTICATION, &ACCESS_POINT[..]));
        let accepted = frame([AUTHENTICATION, 0], OWN, &[0, 0, 2, 0, 0, 0]);
        assert_eq!(station.hear(&frame([AUTHENTICATION, 0], OWN, &[0, 0, 2, 0, 1, 0])), Heard::Nothing);
        let Heard::Answer(request) = station.hear(&accepted) else { panic!("it answers") };
        let body = [&[0x21, 4, 10, 0, 0, 9][..], b"lasthop-0", &[1, 4, 2, 4, 11, 22]].concat();
        assert_eq!((request[0], &request[HEADER..]), (ASSOCIATION_REQUEST, &body[..]));
        assert_eq!(request[22..HEADER], [0x10, 0], "it counts its frames");
        let mut associated = associated();
        assert_eq!(associated.hear(&beacon("lasthop-0")), Heard::Nothing, "it stays");
        let frame = associated.send(&[0x45; 20]).expect("it is associated");
        assert_eq!((&frame[..2], frame.len()), (&[DATA, TO_DS][..], HEADER + 8 + 20));
        assert_eq!(associated.send(&[0x60; 40]), None, "of IPv6");
    }

    #[test]
    fn a_station_without_its_access_point_looks_for_it_again() {
        let mut station = associated();
        let leave = frame([DEAUTHENTICATION, 0], OWN, &[3, 0]);
        assert_eq!(station.hear(&leave), Heard::Nothing);
        assert_eq!(station.send(&[0x45; 20]), None);
        assert!(matches!(station.hear(&beacon("lasthop-0")), Heard::Answer(_)));
    }

    #[test]
    fn a_handshake_goes_on_beside_beacons_and_begins_again_after_some() {
        let mut station = station();
        assert!(matches!(station.hear(&beacon("lasthop-0")), Heard::Answer(_)));
        let accepted = frame([AUTHENTICATION, 0], OWN, &[0, 0, 2, 0, 0, 0]);
        assert_eq!(station.hear(&beacon("lasthop-0")), Heard::Nothing, "an answer is on its way");
        assert!(matches!(station.hear(&accepted), Heard::Answer(_)));
        for _ in 0..PATIENCE {
            assert_eq!(station.hear(&beacon("lasthop-0")), Heard::Nothing);
        }
        let Heard::Answer(again) = station.hear(&beacon("lasthop-0")) else { panic!("it begins again") };
        assert_eq!(again[0], AUTHENTICATION);
    }

    #[test]
    fn data_for_a_station_has_packets_of_its_host() {
        let mut station = associated();
        let body = [&IPV4[..], &[0x45; 20]].concat();
        let data = frame([DATA, FROM_DS], OWN, &body);
        assert_eq!(station.hear(&data), Heard::Packet(&[0x45; 20]));
        let qos = frame([QOS_DATA, FROM_DS], OWN, &[&[0, 0][..], &body].concat());
        assert_eq!(station.hear(&qos), Heard::Packet(&[0x45; 20]));
        let arp = [0xaa, 0xaa, 3, 0, 0, 0, 8, 6, 0];
        let others = [
            frame([DATA, FROM_DS], [2; 6], &body),
            frame([DATA, FROM_DS | PROTECTED], OWN, &body),
            frame([DATA, TO_DS], OWN, &body),
            frame([DATA, FROM_DS], OWN, &arp),
            data[..HEADER + 7].to_vec(),
        ];
        for other in others {
            assert_eq!(station.hear(&other), Heard::Nothing, "{other:?}");
        }
        for len in 0..data.len() {
            let _ = station.hear(&data[..len]);
            let _ = station.hear(&beacon("lasthop-0")[..len.min(30)]);
        }
    }
}
