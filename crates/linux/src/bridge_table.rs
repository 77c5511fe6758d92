//! Changes of the tables in which bridges keep where stations are (their forwarding databases), as the kernel
//! reports them to everybody (rtnetlink(7), group `RTNLGRP_NEIGH`).

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::net::netdevice::index_to_name;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

use crate::netlink::{attributes, messages};

/// A bridge has learned at which of its ports a station is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The MAC address of the station.
    pub station: [u8; 6],
    /// The name of the interface that is the port.
    pub port: String,
}

/// The changes since it was opened.
#[derive(Debug)]
pub struct BridgeTable {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// What has been received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Stations that were learned, or moved, in order.
    pub learned: Vec<Learned>,
    /// Messages that could not be read.
    pub malformed: u64,
    /// Whether the kernel had no room for further messages, so that some are missing.
    pub is_incomplete: bool,
}

impl BridgeTable {
    /// Receives changes from now on, in the network namespace of the calling thread.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, NEIGHBOURS))?;
        Ok(Self { socket, buffer: vec![0; 64 * 1024] })
    }

    /// Waits for changes, at most this long. Returns none after that.
    pub fn receive(&mut self, wait: Duration) -> io::Result<Received> {
        let wait = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(Errno::INTR) => return Ok(Received::default()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match read(&self.socket, &mut self.buffer) {
            Ok(len) => {
                // An interface that no longer exists has no stations.
                let name = |index| index_to_name(&self.socket, index).ok();
                Ok(read_changes(&self.buffer[..len], name))
            }
            Err(Errno::NOBUFS) => Ok(Received { is_incomplete: true, ..Received::default() }),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Received::default()),
            Err(error) => Err(error.into()),
        }
    }
}

/// `RTMGRP_NEIGH`, the bit of `RTNLGRP_NEIGH`.
const NEIGHBOURS: u32 = 1 << 2;
/// `RTM_NEWNEIGH`: an entry is new, or has changed.
const NEW: u16 = 28;
/// `AF_BRIDGE`: the entry is a bridge's.
const BRIDGE: u8 = 7;
/// `NUD_PERMANENT`: the address of an interface of this machine, or of a group.
const PERMANENT: u16 = 0x80;
/// `NDA_LLADDR`.
const ADDRESS: u16 = 2;
/// `struct ndmsg`.
const HEADER: usize = 12;

/// Reads the messages of one datagram. `name` gives the name of the interface with an index.
fn read_changes(octets: &[u8], name: impl Fn(u32) -> Option<String>) -> Received {
    let mut received = Received::default();
    for (kind, body) in messages(octets) {
        match read_change(kind, body) {
            Ok(change) => received
                .learned
                .extend(change.and_then(|(station, port)| Some(Learned { station, port: name(port)? }))),
            Err(Malformed) => received.malformed += 1,
        }
    }
    received
}

struct Malformed;

/// The station and the index of its port that a message reports; `None` if it reports something else.
fn read_change(kind: u16, body: &[u8]) -> Result<Option<([u8; 6], u32)>, Malformed> {
    if kind != NEW {
        return Ok(None);
    }
    let (header, rest) = body.split_at_checked(HEADER).ok_or(Malformed)?;
    let port = u32::from_ne_bytes([header[4], header[5], header[6], header[7]]);
    let state = u16::from_ne_bytes([header[8], header[9]]);
    if header[0] != BRIDGE || state & PERMANENT != 0 {
        return Ok(None);
    }
    let address = attributes(rest).find(|attribute| attribute.number == ADDRESS).ok_or(Malformed)?;
    let station: [u8; 6] = address.value.try_into().map_err(|_| Malformed)?;
    Ok((station[0] & 1 == 0).then_some((station, port)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::netlink::written;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut octets = ((16 + body.len()) as u32).to_ne_bytes().to_vec();
        octets.extend(kind.to_ne_bytes());
        octets.resize(16, 0);
        octets.extend(body);
        octets
    }

    fn entry(family: u8, port: u32, state: u16, address: &[u8]) -> Vec<u8> {
        let mut body = vec![family, 0, 0, 0];
        body.extend(port.to_ne_bytes());
        body.extend(state.to_ne_bytes());
        body.extend([0, 0]);
        [body, written(ADDRESS, address)].concat()
    }

    fn read(octets: &[u8]) -> Received {
        read_changes(octets, |index| (index < 100).then(|| format!("eth{index}")))
    }

    const STATION: [u8; 6] = [2, 0, 0, 0, 0, 7];
    const REACHABLE: u16 = 2;

    #[test]
    fn a_station_at_a_port_is_learned_and_other_entries_are_none() {
        let learned = Learned { station: STATION, port: "eth5".to_owned() };
        let others = [
            message(NEW, &entry(BRIDGE, 5, PERMANENT, &STATION)),
            message(NEW, &entry(2, 5, REACHABLE, &STATION)),
            message(NEW + 1, &entry(BRIDGE, 5, REACHABLE, &STATION)),
            message(NEW, &entry(BRIDGE, 5, REACHABLE, &[1, 0, 0x5e, 0, 0, 1])),
            message(NEW, &entry(BRIDGE, 500, REACHABLE, &STATION)),
        ];
        let its_own = message(NEW, &entry(BRIDGE, 5, REACHABLE, &STATION));
        let received = read(&[others.concat(), its_own].concat());
        assert_eq!(received, Received { learned: vec![learned], ..Received::default() });
    }

    #[test]
    fn a_malformed_message_is_counted_and_the_next_one_is_read() {
        let malformed = [
            message(NEW, &[BRIDGE; 4]),
            message(NEW, &entry(BRIDGE, 5, REACHABLE, &STATION[..5])),
            message(NEW, &entry(BRIDGE, 5, REACHABLE, &STATION)[..12]),
        ];
        let next = message(NEW, &entry(BRIDGE, 6, REACHABLE, &STATION));
        let received = read(&[malformed.concat(), next].concat());
        assert_eq!((received.malformed, received.learned.len()), (3, 1), "{received:?}");
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(garbage in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&garbage);
        }
    }
}
