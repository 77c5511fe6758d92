//! Requests about Wi-Fi devices (`linux/nl80211.h`), in the network namespace of the calling thread.

use std::io;

use rustix::net::netlink;

use crate::netlink::{AnswerKind, Request, Socket, attributes, written};

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

/// A station that an access point takes for one of its own, until this value is dropped.
#[derive(Debug)]
pub struct MadeUpStation {
    socket: Socket,
    family: u16,
    interface: u32,
    address: [u8; 6],
}

impl MadeUpStation {
    /// Adds a station to the access point at the interface with this index, authorized and without keys. Needs
    /// `CAP_NET_ADMIN`, and a driver that lets the kernel have a table of stations.
    pub fn add(interface: u32, address: [u8; 6]) -> io::Result<Self> {
        let mut socket = Socket::open(Some(netlink::GENERIC))?;
        let family = family(&mut socket)?;
        let mut station = Self { socket, family, interface, address };
        let is_above = station.frequency()?.is_some_and(|mhz| mhz > END_OF_BAND_MHZ);
        let attributes = [
            written(ASSOCIATION_ID, &LAST_ID.to_ne_bytes()),
            written(LISTEN_INTERVAL, &1_u16.to_ne_bytes()),
            written(SUPPORTED_RATES, &LOWEST_RATES[usize::from(is_above)..][..1]),
            // `struct nl80211_sta_flag_update`: which flags are given, and their values.
            written(STATION_FLAGS, &[AUTHORIZED.to_ne_bytes(), AUTHORIZED.to_ne_bytes()].concat()),
        ];
        station.command(NEW_STATION, &attributes.concat())?;
        Ok(station)
    }

    /// The frequency of the interface, in MHz; `None` for one that is on no channel.
    fn frequency(&mut self) -> io::Result<Option<u32>> {
        self.request(GET_INTERFACE, &[], |described| {
            let frequency = attributes(described).find(|attribute| attribute.number == FREQUENCY)?;
            Some(u32::from_ne_bytes(*frequency.value.first_chunk()?))
        })
    }

    fn command(&mut self, command: u8, more: &[u8]) -> io::Result<()> {
        let about = [&written(ADDRESS, &self.address), more].concat();
        self.request(command, &about, |_| None::<()>).map(drop)
    }

    fn request<T>(
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

impl Drop for MadeUpStation {
    fn drop(&mut self) {
        // It may have gone with its interface.
        let _ = self.command(DELETE_STATION, &[]);
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
