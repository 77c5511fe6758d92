//! Two access points and a central translator, under random traffic, moves, loss and reordering: each
//! connection keeps its outside end, no packet reaches a host that it is not for, and each arrives with the
//! octets that it had.

use std::collections::BTreeMap;

use lasthop_packet::Rng;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_oneof, proptest};

use super::*;
use crate::Redirect;
use crate::transfer::write;

const CENTRAL: Ipv4Addr = OUTSIDE;
/// The addresses of the access points in the distribution system.
const ACCESS_POINTS: [Ipv4Addr; 2] = [Ipv4Addr::new(172, 16, 0, 1), Ipv4Addr::new(172, 16, 0, 2)];
const HOSTS: u8 = 4;

/// Something that happens. Numbers are modulo what there is.
#[derive(Clone, Debug)]
enum Event {
    /// A host sends from one of few ports, so that ports collide, to one of few servers.
    Send { host: u8, protocol: u8, port: u8, server: u8, flags: u8, is_lost: bool },
    /// A server answers the packet that it has received at this place.
    Answer { received: u16, flags: u8, is_lost: bool },
    /// A packet in flight to the site arrives, in any order.
    Arrive { in_flight: u16 },
    /// A server or anybody else sends to any outside port.
    Probe { from: u8, protocol: u8, port: u16 },
    /// A host is at the other access point from now on.
    Move { host: u8 },
    /// Time passes.
    Wait { seconds: u16 },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0..HOSTS, 0..3_u8, 0..4_u8, 0..3_u8, 0..4_u8, prop::bool::weighted(0.1)).prop_map(
            |(host, protocol, port, server, flags, is_lost)| Event::Send {
                host, protocol, port, server, flags, is_lost
            }
        ),
        8 => (any::<u16>(), 0..4_u8, prop::bool::weighted(0.1))
            .prop_map(|(received, flags, is_lost)| Event::Answer { received, flags, is_lost }),
        8 => any::<u16>().prop_map(|in_flight| Event::Arrive { in_flight }),
        1 => (0..3_u8, 0..3_u8, 1000..1100_u16)
            .prop_map(|(from, protocol, port)| Event::Probe { from, protocol, port }),
        2 => (0..HOSTS).prop_map(|host| Event::Move { host }),
        1 => (1..200_u16).prop_map(|seconds| Event::Wait { seconds }),
    ]
}

const FLAGS: [TcpFlags; 4] = [TcpFlags::SYN, TcpFlags::ACK, TcpFlags::FIN.with(TcpFlags::ACK), TcpFlags::RST];

fn protocol(number: u8) -> Protocol {
    [Protocol::Tcp, Protocol::Udp, Protocol::Icmp][usize::from(number)]
}

fn server(number: u8) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, number), 80)
}

fn station(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 1 + number)
}

fn packet(protocol: Protocol, from: SocketAddrV4, to: SocketAddrV4, flags: TcpFlags) -> Packet {
    match protocol {
        Protocol::Tcp => segment(from, to, flags),
        Protocol::Udp => datagram(from, to),
        Protocol::Icmp => echo(*from.ip(), *to.ip(), 8, from.port()),
    }
}

/// The remote end of a session, as translators know it.
fn remote(protocol: Protocol, socket: SocketAddrV4) -> SocketAddrV4 {
    if protocol == Protocol::Icmp { SocketAddrV4::new(*socket.ip(), 0) } else { socket }
}

struct Site {
    now: Instant,
    access_points: [Nat; 2],
    central: Nat,
    /// The access point that each host is at.
    at: [usize; HOSTS as usize],
    /// Packets that servers have received: protocol, who sent it, from where it came, and to which server.
    received: Vec<(Protocol, SocketAddrV4, SocketAddrV4, SocketAddrV4)>,
    /// Packets on their way to the site, with the host endpoint that each is meant for.
    in_flight: Vec<(Packet, Option<SocketAddrV4>)>,
    /// Where each host endpoint was last seen outside, and until when that is sure to hold.
    outside: BTreeMap<Endpoint, (SocketAddrV4, Instant)>,
    delivered: usize,
}

impl Site {
    fn new() -> Self {
        let nat = |address, name: &str| {
            let mut config = NatConfig::new(vec![address]);
            config.ports = 1024..=1100;
            Nat::new(config, Rng::named(7, name)).expect("the settings are possible")
        };
        let [one, two] = ACCESS_POINTS;
        Self {
            now: at(0),
            access_points: [nat(one, "one"), nat(two, "two")],
            central: nat(CENTRAL, "central"),
            at: [0, 0, 1, 1],
            received: Vec::new(),
            in_flight: Vec::new(),
            outside: BTreeMap::new(),
            delivered: 0,
        }
    }

    fn handle(&mut self, event: &Event) {
        match *event {
            Event::Send { host, protocol: number, port, server: to, flags, is_lost } => {
                // The same ports at all hosts: most have to be changed.
                let from = SocketAddrV4::new(station(host), 1050 + u16::from(port));
                let (protocol, to) = (protocol(number), server(to));
                self.send(host, (protocol, from, to), FLAGS[usize::from(flags)], is_lost);
            }
            Event::Answer { received, flags, is_lost } => {
                if let Some(&(protocol, of, from, server)) = pick(&self.received, received) {
                    let packet = if protocol == Protocol::Icmp {
                        echo(*server.ip(), *from.ip(), 0, from.port())
                    } else {
                        packet(protocol, server, from, FLAGS[usize::from(flags)])
                    };
                    if !is_lost {
                        self.in_flight.push((packet, Some(of)));
                    }
                }
            }
            Event::Arrive { in_flight } => {
                if !self.in_flight.is_empty() {
                    let place = usize::from(in_flight) % self.in_flight.len();
                    let (packet, meant) = self.in_flight.swap_remove(place);
                    self.arrive(&packet, meant);
                }
            }
            Event::Probe { from, protocol: number, port } => {
                // From a port from which no server has ever sent.
                let from = SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, from), 6666);
                let to = SocketAddrV4::new(CENTRAL, port);
                let probe = packet(protocol(number), from, to, TcpFlags::SYN);
                self.arrive(&probe, None);
            }
            Event::Move { host } => self.hand_off(host),
            Event::Wait { seconds } => self.now += std::time::Duration::from_secs(seconds.into()),
        }
    }

    /// A packet from a host to a server.
    fn send(
        &mut self,
        host: u8,
        (protocol, from, to): (Protocol, SocketAddrV4, SocketAddrV4),
        flags: TcpFlags,
        is_lost: bool,
    ) {
        let sent = packet(protocol, from, to, flags);
        let inner = out(&mut self.access_points[self.at[usize::from(host)]], &sent, self.now);
        let Ok(inner) = inner else {
            assert_eq!(inner, Err(Refusal::NoSession), "there is room for all");
            return;
        };
        if is_lost {
            return;
        }
        let outer = out(&mut self.central, &inner, self.now);
        let Ok(outer) = outer else {
            // The access point has seen the SYN, and the central translator has not.
            assert_eq!(outer, Err(Refusal::NoSession));
            return;
        };
        let seen = ends(&outer)[0];
        assert_eq!(*seen.ip(), CENTRAL);
        assert_eq!(outer.payload(), sent.payload());
        let endpoint = Endpoint::new(protocol, from);
        if let Some((before, until)) = self.outside.get(&endpoint)
            && self.now < *until
        {
            assert_eq!(seen, *before, "{endpoint} has another outside end");
        }
        if flags != TcpFlags::RST || protocol != Protocol::Tcp {
            // The shortest of all times.
            let until = self.now + std::time::Duration::from_secs(60);
            self.outside.insert(endpoint, (seen, until));
        }
        // What the outside sees is one host's.
        let rivals = self.outside.iter().filter(|(other, (outside, until))| {
            *outside == seen && other.protocol == protocol && **other != endpoint && self.now < *until
        });
        assert_eq!(rivals.count(), 0, "{seen} is two hosts'");
        self.received.push((protocol, from, seen, to));
    }

    /// A packet from outside arrives at the central translator.
    fn arrive(&mut self, packet: &Packet, meant: Option<SocketAddrV4>) {
        let from = ends(packet)[0];
        let Ok(inner) = back(&mut self.central, packet, self.now) else { return };
        assert!(meant.is_some(), "no packet that no host has asked for gets through: {inner:?}");
        let address = *ends(&inner)[1].ip();
        let index = ACCESS_POINTS.iter().position(|of| *of == address).expect("it is an access point's");
        let Ok(cell) = back(&mut self.access_points[index], &inner, self.now) else { return };
        let [source, destination] = ends(&cell);
        let host = usize::from(destination.ip().octets()[3] - 1);
        assert_eq!(self.at[host], index, "it is at that access point");
        assert!(matches!(cell.transport(), Transport::Icmp(_)) || source == from, "the source stays");
        assert_eq!(cell.payload(), packet.payload());
        // An answer that was on its way for longer than a session lasts may be for a port that another
        // endpoint has now; then that one has a session with the same server.
        if Some(destination) != meant {
            let protocol = match cell.transport() {
                Transport::Tcp(_) => Protocol::Tcp,
                Transport::Udp(_) => Protocol::Udp,
                _ => Protocol::Icmp,
            };
            let knows = self.received.iter().any(|(of, by, _, to)| {
                (*of, *by, to.ip()) == (protocol, destination, remote(protocol, from).ip())
            });
            assert!(knows, "{destination} has never sent to {from}");
            return;
        }
        self.delivered += 1;
    }

    /// A host moves, with its state.
    fn hand_off(&mut self, host: u8) {
        let (address, now) = (station(host), self.now);
        let place = &mut self.at[usize::from(host)];
        let [one, two] = &mut self.access_points;
        let (old, new) = if *place == 0 { (one, two) } else { (two, one) };
        let until = now + std::time::Duration::from_secs(5);
        assert!(new.hold(address, until, now) && old.hold(address, until, now));
        let octets = write(&old.export(address, now));
        let state = new.read(&octets).expect("it was just written");
        let redirects: Vec<Redirect> = new.import(&state, now).expect("there is room");
        self.central.redirect(&redirects, now).expect("they are the access point's");
        new.resume(address);
        old.remove(address);
        *place = 1 - *place;
    }
}

fn pick<T>(list: &[T], number: u16) -> Option<&T> {
    list.get(usize::from(number).checked_rem(list.len())?)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn connections_keep_their_outside_ends_through_all_moves(events in prop::collection::vec(event(), 1..400)) {
        let mut site = Site::new();
        for event in &events {
            site.handle(event);
        }
    }
}

#[test]
fn without_its_state_a_host_that_moves_loses_its_connections_in_silence() {
    let mut site = Site::new();
    let from = SocketAddrV4::new(station(0), 1050);
    site.send(0, (Protocol::Tcp, from, server(1)), TcpFlags::SYN, false);
    site.at[0] = 1;
    let segment = segment(from, server(1), TcpFlags::ACK);
    assert_eq!(out(&mut site.access_points[1], &segment, site.now), Err(Refusal::NoSession));
    // A segment from the server still goes to the old access point, and no further than its cell.
    let (_, _, seen, to) = site.received[0];
    let answer = super::segment(to, seen, TcpFlags::SYN.with(TcpFlags::ACK));
    let inner = back(&mut site.central, &answer, site.now).expect("translated");
    assert_eq!(*ends(&inner)[1].ip(), ACCESS_POINTS[0]);
}

#[test]
fn most_answers_reach_their_hosts() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut answers, mut delivered, mut moves) = (0, 0, 0);
    for _ in 0..50 {
        let tree = prop::collection::vec(event(), 400).new_tree(&mut runner).expect("a list");
        let events = proptest::strategy::ValueTree::current(&tree);
        let mut site = Site::new();
        for event in &events {
            site.handle(event);
        }
        answers += events.iter().filter(|event| matches!(event, Event::Answer { .. })).count();
        moves += events.iter().filter(|event| matches!(event, Event::Move { .. })).count();
        delivered += site.delivered;
    }
    assert!(moves > 1000 && delivered > answers / 4, "{delivered} of {answers}, {moves} moves");
}
