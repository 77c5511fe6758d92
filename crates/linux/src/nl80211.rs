//! Wi-Fi devices, as the kernel knows them (`linux/nl80211.h`), in the network namespace of the calling thread.

use std::io;

use rustix::io::Errno;
use rustix::net::netlink::GENERIC;

use crate::netlink::{self, AnswerKind, Request, Socket, attributes, written};

/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID` and `CTRL_ATTR_FAMILY_NAME` (`linux/genetlink.h`).
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// `NL80211_CMD_GET_INTERFACE`, `NL80211_CMD_NEW_STATION` and `NL80211_CMD_DEL_STATION`.
const GET_INTERFACE: u8 = 5;
const NEW_STATION: u8 = 19;
const DELETE_STATION: u8 = 20;
/// `NL80211_ATTR_...`.
const INTERFACE: u16 = 3;
const ADDRESS: u16 = 6;
const ASSOCIATION_ID: u16 = 16;
const LISTEN_INTERVAL: u16 = 18;
const SUPPORTED_RATES: u16 = 19;
const FREQUENCY: u16 = 38;
const STATION_FLAGS: u16 = 67;
/// The bit of `NL80211_STA_FLAG_AUTHORIZED`.
const AUTHORIZED: u32 = 1 << 1;
/// The last association ID (IEEE 802.11-2020, 9.4.1.8). Access points begin with the first.
const LAST_ID: u16 = 2007;
/// The lowest rates of the band at 2.4 GHz, below 3 GHz, and of others: 1 and 6 Mbit/s, in units of 500 kbit/s.
const LOWEST_RATES: [u8; 2] = [2, 12];
const END_OF_BAND_MHZ: u32 = 3000;

/// Whether the interface with this index is a Wi-Fi device, rather than a VLAN or a bridge over one.
pub fn is_wifi(interface: u32) -> io::Result<bool> {
    match Requests::open(interface).and_then(|mut requests| requests.frequency()) {
        Ok(_) => Ok(true),
        // Without nl80211 there is no Wi-Fi.
        Err(error) if netlink::is_absent(&error) || is_unsupported(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported || Errno::from_io_error(error) == Some(Errno::OPNOTSUPP)
}

/// A station that an access point takes for one of its own, until this value is dropped.
#[derive(Debug)]
pub struct MadeUpStation {
    requests: Requests,
    address: [u8; 6],
}

impl MadeUpStation {
    /// Adds a station to the access point at the interface with this index, authorized and without keys. Needs
    /// `CAP_NET_ADMIN`, and a driver that lets the kernel have a table of stations.
    pub fn add(interface: u32, address: [u8; 6]) -> io::Result<Self> {
        let mut requests = Requests::open(interface)?;
        let is_above = requests.frequency()?.is_some_and(|mhz| mhz > END_OF_BAND_MHZ);
        let attributes = [
            written(ADDRESS, &address),
            written(ASSOCIATION_ID, &LAST_ID.to_ne_bytes()),
            written(LISTEN_INTERVAL, &1_u16.to_ne_bytes()),
            written(SUPPORTED_RATES, &LOWEST_RATES[usize::from(is_above)..][..1]),
            // `struct nl80211_sta_flag_update`: which flags are given, and their values.
            written(STATION_FLAGS, &[AUTHORIZED.to_ne_bytes(), AUTHORIZED.to_ne_bytes()].concat()),
        ];
        requests.send(NEW_STATION, &attributes.concat(), |_| None::<()>)?;
        Ok(Self { requests, address })
    }
}

impl Drop for MadeUpStation {
    fn drop(&mut self) {
        // It may have gone with its interface.
        let _ = self.requests.send(DELETE_STATION, &written(ADDRESS, &self.address), |_| None::<()>);
    }
}

/// Requests about an interface.
#[derive(Debug)]
struct Requests {
    socket: Socket,
    family: u16,
    interface: u32,
}

impl Requests {
    fn open(interface: u32) -> io::Result<Self> {
        let mut socket = Socket::open(Some(GENERIC))?;
        let family = family(&mut socket)?;
        Ok(Self { socket, family, interface })
    }

    /// The frequency of the interface, in MHz; `None` for one that is on no channel.
    fn frequency(&mut self) -> io::Result<Option<u32>> {
        self.send(GET_INTERFACE, &[], |described| {
            let frequency = attributes(described).find(|attribute| attribute.number == FREQUENCY)?;
            Some(u32::from_ne_bytes(*frequency.value.first_chunk()?))
        })
    }

    fn send<T>(
        &mut self,
        command: u8,
        about: &[u8],
        mut pick: impl FnMut(&[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let interface = written(INTERFACE, &self.interface.to_ne_bytes());
        let body = [&[command, 0, 0, 0], &interface[..], about].concat();
        let request = Request { protocol: None, kind: self.family, asks: AnswerKind::One, body: &body };
        // `struct genlmsghdr`.
        self.socket.request(request, |_, answer| pick(answer.get(4..)?))
    }
}

/// The type of messages of nl80211, which the kernel chooses as it starts.
fn family(socket: &mut Socket) -> io::Result<u16> {
    let body = [&[GET_FAMILY, 1, 0, 0], &written(FAMILY_NAME, b"nl80211\0")[..]].concat();
    let request = Request { protocol: None, kind: CONTROLLER, asks: AnswerKind::One, body: &body };
    let found = socket.request(request, |_, answer| {
        let id = attributes(answer.get(4..)?).find(|attribute| attribute.number == FAMILY_ID)?;
        Some(u16::from_ne_bytes(*id.value.first_chunk()?))
    })?;
    found.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
}
