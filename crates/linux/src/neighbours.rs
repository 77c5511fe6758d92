//! The hosts on the same link, as the kernel knows them: its ARP table (rtnetlink(7), `RTM_GETNEIGH`).

use std::io;
use std::net::Ipv4Addr;

use crate::netlink::{AnswerKind, Request, Socket, attributes};

/// The ARP table of the network namespace in which it was opened.
#[derive(Debug)]
pub struct Neighbours(Socket);

/// A host on the same link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its IP address.
    pub ip: Ipv4Addr,
    /// Its MAC address.
    pub mac: [u8; 6],
    /// Whether that may be an old address: it was not heard for a while, and another host may have its IP address since.
    pub is_stale: bool,
}

/// The maximum number of hosts that are listed: as many as the largest network of an access point has.
const MAX_NEIGHBOURS: usize = 65_536;

/// `RTM_GETNEIGH`, and `RTM_NEWNEIGH`, which answers it.
const GET: u16 = 30;
const ENTRY: u16 = 28;
/// `struct ndmsg`.
const HEADER: usize = 12;
/// `NDA_DST` and `NDA_LLADDR`.
const DESTINATION: u16 = 1;
const ADDRESS: u16 = 2;
/// `NUD_FAILED` and `NUD_NOARP`: no host has answered, or none is asked.
const WITHOUT_ANSWER: u16 = 0x20 | 0x40;
/// `NUD_STALE`.
const STALE: u16 = 0x04;

impl Neighbours {
    /// Opens it, in the network namespace of the calling thread.
    pub fn open() -> io::Result<Self> {
        Socket::open(None).map(Self)
    }

    /// All hosts, including those that have not been heard for a while.
    pub fn list(&mut self) -> io::Result<Vec<Neighbour>> {
        let mut body = [0; HEADER];
        body[0] = libc::AF_INET as u8;
        let mut all = Vec::new();
        let request = Request { protocol: None, kind: GET, asks: AnswerKind::All, body: &body };
        self.0.request(request, |kind, entry| {
            all.extend((kind == ENTRY && all.len() < MAX_NEIGHBOURS).then(|| read(entry)).flatten());
            None::<()>
        })?;
        Ok(all)
    }
}

/// The host that an entry is about; `None` if its address is not known.
fn read(entry: &[u8]) -> Option<Neighbour> {
    let (header, rest) = entry.split_at_checked(HEADER)?;
    let state = u16::from_ne_bytes([header[8], header[9]]);
    let value = |number| attributes(rest).find(|attribute| attribute.number == number);
    let ip: [u8; 4] = value(DESTINATION)?.value.try_into().ok()?;
    let mac = value(ADDRESS)?.value.try_into().ok()?;
    let is_stale = state & STALE != 0;
    (state & WITHOUT_ANSWER == 0).then(|| Neighbour { ip: ip.into(), mac, is_stale })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::netlink::written;

    fn entry(state: u16, ip: &[u8], mac: &[u8]) -> Vec<u8> {
        let mut body = vec![libc::AF_INET as u8, 0, 0, 0, 5, 0, 0, 0];
        body.extend(state.to_ne_bytes());
        body.extend([0, 0]);
        [body, written(DESTINATION, ip), written(ADDRESS, mac)].concat()
    }

    #[test]
    fn hosts_with_both_addresses_are_listed() {
        let (ip, mac) = ([10, 0, 0, 7], [2, 0, 0, 0, 0, 7]);
        // `NUD_STALE`: it may have gone.
        assert_eq!(read(&entry(4, &ip, &mac)), Some(Neighbour { ip: ip.into(), mac, is_stale: true }));
        assert_eq!(read(&entry(0x20, &ip, &mac)), None);
        assert_eq!(read(&entry(4, &ip, &mac[..5])), None);
        assert_eq!(read(&entry(4, &[0; 16], &mac)), None);
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(garbage in prop::collection::vec(any::<u8>(), 0..100)) {
            read(&garbage);
        }
    }
}
