//! A translation of a client's connection as a value, and how it is told to other gateways. What others tell is not
//! trusted.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use lasthop_linux::conntrack::{Entry, Protocol, Status, TcpEnd, TcpState, Tuple};
use serde::{Deserialize, Serialize};

/// The maximum number of translations of a client that move.
pub const MAX_MAPPINGS: usize = 4096;

/// The longest time that a translation stays without a packet: five days, the kernel's time-out of established TCP.
const LONGEST: u32 = 5 * 24 * 3600;

/// A translation of a client's connection: how the connection is known inside and outside of an access point, and what
/// the kernel knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    inside: SocketAddrV4,
    remote: SocketAddrV4,
    outside: SocketAddrV4,
    is_answered: bool,
    /// Seconds that it stays without a packet.
    timeout: u32,
    mark: u32,
    /// The state of TCP, and the window scale and the flags of both ends; `None` for UDP.
    tcp: Option<(u8, [(u8, u8); 2])>,
}

/// The maximum octets of a [`Moved`] in a message: a protocol, two addresses with their ports, and a port.
pub const MAX_MOVED: usize = 1 + 2 * (4 + 3) + 3;

/// A connection that the central translator is to send to another endpoint of the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    is_tcp: bool,
    remote: SocketAddrV4,
    former: SocketAddrV4,
    port: u16,
}

impl Mapping {
    /// The translation of a connection that a host behind `outside` has opened; `None` if it has another one, or none.
    pub fn of(entry: &Entry, outside: Ipv4Addr) -> Option<Self> {
        let at = entry.outside().filter(|at| at.ip() == &outside)?;
        Some(Self {
            inside: entry.original.source,
            remote: entry.original.destination,
            outside: at,
            is_answered: entry.status.is_answered,
            timeout: u32::try_from(entry.timeout.as_secs()).unwrap_or(LONGEST).min(LONGEST),
            mark: entry.mark,
            tcp: entry.tcp.map(|tcp| (tcp.state, tcp.ends.map(|end| (end.window_scale, end.flags)))),
        })
    }

    /// The client's end.
    pub const fn inside(&self) -> SocketAddrV4 {
        self.inside
    }

    /// The end outside of the access point that gave it.
    pub const fn outside(&self) -> SocketAddrV4 {
        self.outside
    }

    /// The client's packets.
    pub const fn original(&self) -> Tuple {
        Tuple { protocol: protocol(self.tcp.is_some()), source: self.inside, destination: self.remote }
    }

    /// The connection with another outside end. `None` if it is impossible.
    pub fn entry(&self, outside: SocketAddrV4) -> Option<Entry> {
        let is_end = |end: &SocketAddrV4| end.port() != 0 && is_of_a_host(*end.ip());
        if ![self.inside, self.remote, self.outside].iter().all(is_end) {
            return None;
        }
        let tcp = match self.tcp {
            None => None,
            Some((state, ends)) => {
                let scales_are_possible = ends.iter().all(|(scale, _)| *scale <= TcpEnd::MAX_SCALE);
                if !(1..=TcpState::MAX).contains(&state) || !scales_are_possible {
                    return None;
                }
                let ends = ends.map(|(window_scale, flags)| TcpEnd { window_scale, flags });
                Some(TcpState { state, ends })
            }
        };
        let original = self.original();
        Some(Entry {
            original,
            reply: Tuple { destination: outside, ..original.reversed() },
            // The kernel sets the latter when packets pass: an entry that has none may be the first to go.
            status: Status { is_answered: self.is_answered, is_assured: false },
            timeout: Duration::from_secs(self.timeout.min(LONGEST).into()),
            mark: self.mark,
            tcp,
        })
    }

    /// What the central translator has to know, if the connection has another outside end from now on.
    pub fn moved(&self, outside: SocketAddrV4) -> Option<Moved> {
        let moved = Moved {
            is_tcp: self.tcp.is_some(),
            remote: self.remote,
            former: self.outside,
            port: outside.port(),
        };
        (outside != self.outside).then_some(moved)
    }
}

impl Moved {
    /// The address of the access point that had it.
    pub const fn former_address(&self) -> Ipv4Addr {
        *self.former.ip()
    }

    /// The packets as they came from the former access point, and as they come from one with this address.
    pub fn tuples(&self, address: Ipv4Addr) -> [Tuple; 2] {
        let (protocol, destination) = (protocol(self.is_tcp), self.remote);
        [self.former, SocketAddrV4::new(address, self.port)].map(|source| Tuple {
            protocol,
            source,
            destination,
        })
    }
}

const fn protocol(is_tcp: bool) -> Protocol {
    if is_tcp { Protocol::Tcp } else { Protocol::Udp }
}

/// Whether a host can have this address, other than the loopback one.
fn is_of_a_host(address: Ipv4Addr) -> bool {
    let is_reserved = address.is_unspecified() || address.is_broadcast() || address.is_multicast();
    !is_reserved && !address.is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> SocketAddrV4 {
        text.parse().expect("an address and a port")
    }

    /// A connection from 10.77.0.7 behind 10.0.0.1.
    fn entry() -> Entry {
        let source = end("10.77.0.7:40000");
        let original = Tuple { protocol: Protocol::Tcp, source, destination: end("192.0.2.9:443") };
        Entry {
            original,
            reply: Tuple { destination: end("10.0.0.1:1024"), ..original.reversed() },
            status: Status { is_answered: true, is_assured: false },
            timeout: Duration::from_secs(100),
            mark: 7,
            tcp: Some(TcpState { state: 3, ends: [TcpEnd { window_scale: 7, flags: 3 }; 2] }),
        }
    }

    fn mapping() -> Mapping {
        Mapping::of(&entry(), Ipv4Addr::new(10, 0, 0, 1)).expect("a translation")
    }

    #[test]
    fn only_translations_to_the_access_point_itself_move() {
        assert_eq!(Mapping::of(&entry(), Ipv4Addr::new(10, 0, 0, 2)), None);
        let plain = Entry { reply: entry().original.reversed(), ..entry() };
        assert_eq!(Mapping::of(&plain, Ipv4Addr::new(10, 0, 0, 1)), None);
        assert_eq!(mapping().entry(mapping().outside()), Some(entry()));
    }

    #[test]
    fn a_connection_with_another_outside_end_is_told_and_one_with_the_same_is_not() {
        let other = end("10.0.0.2:1025");
        let expected = Tuple { destination: other, ..entry().reply };
        assert_eq!(mapping().entry(other).map(|entry| entry.reply), Some(expected));
        let moved = mapping().moved(other).expect("it has another end");
        let [before, after] = moved.tuples(Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!((before.source, after.source), (end("10.0.0.1:1024"), other));
        assert_eq!(mapping().moved(mapping().outside()), None);
    }

    #[test]
    fn impossible_translations_are_refused_and_a_long_time_is_shortened() {
        let outside = mapping().outside();
        let with = |change: fn(&mut Mapping)| {
            let mut changed = mapping();
            change(&mut changed);
            changed.entry(outside)
        };
        for change in [
            (|it| it.remote.set_port(0)) as fn(&mut Mapping),
            |it| it.inside = end("0.0.0.0:1"),
            |it| it.remote = end("224.0.0.1:1"),
            |it| it.outside = end("127.0.0.1:1"),
            |it| it.tcp = Some((0, [(0, 0); 2])),
            |it| it.tcp = Some((10, [(0, 0); 2])),
            |it| it.tcp = Some((3, [(0, 0), (15, 0)])),
        ] {
            assert_eq!(with(change), None);
        }
        let long = with(|it| it.timeout = u32::MAX).expect("it is possible");
        assert_eq!(long.timeout.as_secs(), u64::from(LONGEST));
    }
}
