//! Address translation on one level and on two: what works across it, what a move breaks and what keeps it,
//! and what it hides.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lasthop_agent::{Agent, Context, Side, Stateless, Verdict};
use lasthop_apps::session::{DialogueKind, Ftp, Objects, Pace, Size, Web};
use lasthop_apps::traffic::{Beat, Codec, Constant, Media, Voice};
use lasthop_nat::{Endpoint, Filtering, NatConfig, Protocol, Refusal};
use lasthop_packet::quote::too_big;
use lasthop_packet::{Bitrate, Ends, Instant, Ip, Packet, Payload, Probability, Tcp, TcpFlags};
use lasthop_sim::{
    Activity, Application, DialogueOutcome, Direction, DropCause, FlowConfig, FlowId, Interest, LinkId,
    NodeConfig, NodeId, NodeKind, Observer, Opening, Playout, SessionConfig, SessionId, SessionResult,
    SessionTcp, TraceEvent, TranslateError, World,
};
use lasthop_tcp::Config;

use crate::radio::STOP_AND_WAIT;
use crate::support::{direction, ms, percent, tcp_transport, udp_flow, wired, wireless};

/// Two access points with two stations in reach of both, a central router, and the outside: a server and a
/// router.
struct Site {
    world: World,
    stations: [NodeId; 2],
    access_points: [NodeId; 2],
    switch: NodeId,
    central: NodeId,
    server: NodeId,
    /// Outside of the site; packets are put in here.
    router: NodeId,
    /// By station, then by access point.
    cells: [[LinkId; 2]; 2],
    /// The links of the distribution system.
    distribution: [LinkId; 3],
    outside: [LinkId; 2],
}

const CENTRAL: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// The addresses of the access points' cells and of the distribution system.
fn is_of_cell(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(v4) if v4.octets()[..2] == [10, 1])
}

fn is_of_distribution(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(v4) if v4.octets()[..2] == [172, 16])
}

impl Site {
    /// Without translators. The stations' packets go by the first access point.
    fn new(air: &Direction) -> Self {
        let mut world = World::new(1);
        let mut add = |name: &str, kind, address: [u8; 4]| {
            let address = Some(IpAddr::from(address));
            world.add_node(NodeConfig { address, ..NodeConfig::new(name, kind) })
        };
        let stations =
            [add("phone", NodeKind::Host, [10, 1, 0, 2]), add("tablet", NodeKind::Host, [10, 1, 0, 3])];
        let access_points =
            [add("ap1", NodeKind::Router, [172, 16, 0, 1]), add("ap2", NodeKind::Router, [172, 16, 0, 2])];
        let switch = add("switch", NodeKind::Router, [172, 16, 0, 254]);
        let central = add("central", NodeKind::Router, CENTRAL.octets());
        let server = add("server", NodeKind::Host, [192, 0, 2, 80]);
        let router = add("router", NodeKind::External, [203, 0, 113, 1]);
        let wire = wired("wire", &direction(100_000), 2);
        let [one, two] = access_points;
        let distribution = [(one, switch), (two, switch), (switch, central)]
            .map(|(from, to)| world.add_wired_link(from, to, &wire));
        let far = wired("far wire", &direction(100_000), 20);
        let outside =
            [(server, &far), (router, &wire)].map(|(end, wire)| world.add_wired_link(central, end, wire));
        let cells = stations.map(|station| {
            access_points.map(|access_point| {
                world.add_wireless_link(access_point, station, &wireless("air", air, STOP_AND_WAIT))
            })
        });
        Self { world, stations, access_points, switch, central, server, router, cells, distribution, outside }
    }

    /// With translators at this number of levels: 1 is the access points alone.
    fn translated(levels: usize, air: &Direction, change: impl Fn(&mut NatConfig)) -> Self {
        let mut site = Self::new(air);
        for (index, access_point) in site.access_points.into_iter().enumerate().take(2 * levels.min(1)) {
            let inside = site.cells.map(|of_station| of_station[index]);
            site.translate(access_point, &inside, &change);
        }
        if levels == 2 {
            site.translate(site.central, &[site.distribution[2]], &change);
        }
        site
    }

    fn translate(&mut self, node: NodeId, inside: &[LinkId], change: impl Fn(&mut NatConfig)) {
        let IpAddr::V4(address) = self.world.node_address(node) else { panic!("it is IPv4") };
        let mut config = NatConfig::new(vec![address]);
        change(&mut config);
        self.world.translate(node, inside, config).expect("it is a router");
    }

    /// A TCP transfer.
    fn transfer(&mut self, from: NodeId, to: NodeId, octets: u64) -> FlowId {
        let tcp = Config { mss: 1000, ..Config::default() };
        let config = udp_flow(&self.world, (from, to), Application::transfer(Some(octets)));
        self.world.add_flow(FlowConfig { transport: tcp_transport(Opening::Handshake, &tcp), ..config })
    }

    /// Datagrams of 1,000 octets, one each 10 ms, until 2 s.
    fn datagrams(&mut self, from: NodeId, to: NodeId) -> FlowId {
        let beat = Beat::Rate(Bitrate::from_bps(800_000).expect("above zero"));
        let constant = Constant { message: 1000, beat, jitter: Duration::ZERO };
        let config = udp_flow(&self.world, (from, to), Application::Constant(constant));
        self.world.add_flow(FlowConfig { stop: Some(ms(2000)), ..config })
    }

    fn session(&mut self, client: NodeId, server: NodeId, dialogue: DialogueKind) -> SessionId {
        let mut tcp = SessionTcp::alike(&Config { mss: 1000, ..Config::default() });
        (tcp.client.max_timeouts, tcp.server.max_timeouts) = (4, 4);
        let pace = Pace::Think(Duration::from_millis(500));
        self.world.add_session(SessionConfig {
            name: format!("session of {}", client.index()),
            index: self.world.sessions().count(),
            client,
            server,
            start: Instant::ZERO,
            stop: None,
            activity: Activity::Dialogue { dialogue, pace, tcp },
        })
    }

    /// The packets to and from a station go by the other access point; its state does not move.
    fn roam(&mut self, station: usize, to: usize) {
        let (host, cells) = (self.stations[station], self.cells[station]);
        let [new, old] = [self.access_points[to], self.access_points[1 - to]];
        for (at, destination, link) in [
            (host, self.server, cells[to]),
            (host, self.router, cells[to]),
            (new, host, cells[to]),
            (self.switch, host, self.distribution[to]),
            (old, host, self.distribution[1 - to]),
        ] {
            self.world.set_route(at, destination, link).expect("its own link");
        }
    }

    /// A station moves with its state.
    fn hand_off(&mut self, station: usize, to: usize) {
        let now = self.world.now();
        let IpAddr::V4(host) = self.world.node_address(self.stations[station]) else { panic!("it is IPv4") };
        let [new, old] = [self.access_points[to], self.access_points[1 - to]];
        // Packets that are still in the air come late to the old one.
        let until = now + Duration::from_secs(1);
        assert!(self.nat(new).hold(host, until, now) && self.nat(old).hold(host, until, now));
        let state = self.nat(old).export(host, now);
        let redirects = self.nat(new).import(&state, now).expect("there is room");
        self.nat(self.central).redirect(&redirects, now).expect("they are the access point's");
        self.nat(new).resume(host);
        self.nat(old).remove(host);
        self.roam(station, to);
    }

    fn nat(&mut self, node: NodeId) -> &mut lasthop_sim::Nat {
        self.world.translator_mut(node).expect("it translates")
    }

    fn outcome(&self, flow: FlowId) -> u64 {
        let outcome = self.world.outcome(flow);
        assert!(outcome.intact && self.world.accounts().balance(), "{outcome:?}");
        outcome.octets
    }

    fn dialogue(&self, session: SessionId) -> DialogueOutcome {
        let outcome = self.world.session_outcome(session);
        assert!(outcome.intact && self.world.accounts().balance());
        let SessionResult::Dialogue(dialogue) = outcome.result else { panic!("it is a dialogue") };
        dialogue
    }

    fn dropped(&self, refusal: Refusal) -> u64 {
        self.world.accounts().dropped.get(&DropCause::Translation(refusal)).copied().unwrap_or(0)
    }
}

fn web() -> DialogueKind {
    DialogueKind::Web(Web {
        request: 500,
        main_object: Size::Fixed(4000),
        objects: Objects::Fixed(4),
        object: Size::Fixed(2000),
        parse_time: Duration::ZERO,
        connections: 4,
    })
}

fn files(octets: u64, stored: f64) -> DialogueKind {
    DialogueKind::Ftp(Ftp { file: Size::Fixed(octets), stored: Probability::new(stored).expect("0 to 1") })
}

#[test]
fn transfers_and_datagrams_get_through_on_each_level_in_both_directions() {
    let lossy = Direction { loss: percent(2.0).into(), ..direction(8000) };
    for levels in 0..=2 {
        for keeps_ports in [true, false] {
            let mut site = Site::translated(levels, &lossy, |config| config.keeps_ports = keeps_ports);
            let [phone, tablet] = site.stations;
            let server = site.server;
            let mut transfers = Vec::new();
            for station in [phone, tablet] {
                transfers.push(site.transfer(station, server, 200_000));
                transfers.push(site.transfer(server, station, 200_000));
            }
            let datagrams = [site.datagrams(phone, server), site.datagrams(server, tablet)];
            site.world.run(Instant::from_secs(60), true);
            assert!(site.world.now() < Instant::from_secs(30), "all are done");
            for flow in transfers {
                assert_eq!(site.outcome(flow), 200_000);
            }
            for flow in datagrams {
                let udp = *site.world.outcome(flow).udp().expect("a flow over UDP");
                assert_eq!((udp.sent, udp.received + udp.lost, udp.in_transit), (200, 200, 0));
                assert!(udp.received > 190 && site.outcome(flow) == udp.received * 1000);
            }
            let translated = site.world.translator(site.central).map_or(0, |nat| nat.counts().translated);
            assert_eq!(translated > 1000, levels == 2, "{translated}");
        }
    }
}

#[test]
fn dialogues_get_through_on_each_level_in_both_directions() {
    for levels in 0..=2 {
        for keeps_ports in [true, false] {
            let mut site =
                Site::translated(levels, &direction(8000), |config| config.keeps_ports = keeps_ports);
            let ([phone, tablet], server) = (site.stations, site.server);
            // Both stations have the same server, and its clients have the same ports.
            let sessions = [
                site.session(phone, server, web()),
                site.session(tablet, server, web()),
                site.session(server, phone, web()),
                site.session(server, tablet, files(30_000, 0.5)),
            ];
            site.world.advance_to(Instant::from_secs(60));
            for session in sessions {
                let dialogue = site.dialogue(session);
                assert!(dialogue.times.count() > 50 && dialogue.failed == 0, "{levels}: {dialogue:?}");
            }
        }
    }
}

/// A call until 4 s.
fn call(site: &mut Site, client: NodeId, server: NodeId) -> SessionId {
    let codec = Codec::G711 { concealment: true };
    let voice = Voice { codec, packet_time: Duration::from_millis(20), spurts: None };
    let media = Some(Media::Voice(voice, Playout { buffer: Duration::from_millis(60) }));
    site.world.add_session(SessionConfig {
        name: format!("call of {}", client.index()),
        index: site.world.sessions().count(),
        client,
        server,
        start: Instant::ZERO,
        stop: Some(ms(4000)),
        activity: Activity::Call([media, media]),
    })
}

/// The packets sent, lost and received in each direction.
fn packets_of(site: &Site, session: SessionId) -> Vec<[u64; 3]> {
    let outcome = site.world.session_outcome(session);
    assert!(outcome.intact && site.world.accounts().balance());
    let SessionResult::Call(call) = outcome.result else { panic!("it is a call") };
    assert!(call.streams.iter().all(|(_, stream)| stream.packets.in_transit == 0));
    let packets = call.streams.iter().map(|(_, stream)| stream.packets);
    packets.map(|packets| [packets.sent, packets.lost, packets.received]).collect()
}

#[test]
fn both_parties_of_a_call_hear_each_other_on_each_level_and_across_hand_offs() {
    for (levels, moves) in [(0, false), (1, false), (2, false), (2, true)] {
        for keeps_ports in [true, false] {
            let mut site =
                Site::translated(levels, &direction(8000), |config| config.keeps_ports = keeps_ports);
            let ([phone, tablet], server) = (site.stations, site.server);
            let calls = [call(&mut site, phone, server), call(&mut site, server, tablet)];
            let mut at = [0, 0];
            for step in 1..=20_usize {
                site.world.advance_to(ms(150 * step as u64));
                if moves {
                    at[step % 2] = 1 - at[step % 2];
                    site.hand_off(step % 2, at[step % 2]);
                }
            }
            site.world.run(Instant::from_secs(100), true);
            assert!(site.world.now() < ms(4100), "the run ends with the calls");
            for call in calls {
                for [sent, lost, received] in packets_of(&site, call) {
                    assert_eq!((sent, received), (200, 200 - lost));
                    // One or two that are in the air at each of ten moves.
                    assert!(if moves { lost < 20 } else { lost == 0 }, "{lost}");
                }
            }
        }
    }
}

#[test]
fn what_no_host_inside_has_asked_for_is_dropped_and_counted() {
    let mut site = Site::translated(2, &direction(8000), |_| {});
    let [phone, server, router] =
        [site.stations[0], site.server, site.router].map(|node| site.world.node_address(node));
    let segment = |to: IpAddr| {
        let tcp = Tcp { source_port: 1, destination_port: 80, flags: TcpFlags::SYN, ..Tcp::default() };
        Packet::tcp_segment(Ip::new(router, to), tcp, Payload::EMPTY)
    };
    // To the site's address; past the translator, to a station and to an access point; and to the server.
    let access_point = site.world.node_address(site.access_points[0]);
    for to in [CENTRAL.into(), phone, access_point, server] {
        site.world.inject(site.router, segment(to));
    }
    site.world.advance_to(ms(1000));
    assert_eq!(site.dropped(Refusal::NoMapping), 3);
    assert_eq!(site.world.accounts().dropped[&DropCause::NoListener], 1, "between two outside links");
    assert!(site.world.accounts().balance());
    assert_eq!(site.nat(site.central).counts().translated, 0);
}

#[test]
fn only_a_router_translates_with_links_and_addresses_of_its_own() {
    let mut site = Site::new(&direction(8000));
    let config = |address: [u8; 4]| NatConfig::new(vec![address.into()]);
    let own = config([172, 16, 0, 1]);
    let [[cell, other_cell], _] = site.cells;
    let ap = site.access_points[0];
    let refused = site.world.translate(site.stations[0], &[cell], own.clone());
    assert_eq!(refused, Err(TranslateError::NotARouter));
    assert_eq!(
        site.world.translate(ap, &[other_cell], own.clone()),
        Err(TranslateError::NotItsLink(other_cell))
    );
    let refused = site.world.translate(ap, &[cell], config([192, 0, 2, 80]));
    assert_eq!(refused, Err(TranslateError::NotItsAddress(Ipv4Addr::new(192, 0, 2, 80))));
    assert!(matches!(
        site.world.translate(ap, &[cell], NatConfig::new(vec![])),
        Err(TranslateError::Config(_))
    ));
    assert_eq!(site.world.translate(ap, &[cell], config([172, 16, 0, 77])), Ok(()), "a further address");
    assert_eq!(site.world.translate(ap, &[cell], own), Err(TranslateError::Twice));
    let flow = site.transfer(site.stations[0], site.server, 10_000);
    site.world.run(Instant::from_secs(10), true);
    assert_eq!(site.outcome(flow), 10_000);
}

#[test]
fn a_packet_with_a_wrong_bit_goes_no_further_than_a_translator() {
    let faults = lasthop_sim::Faults { corrupt: percent(5.0), ..lasthop_sim::Faults::NONE };
    let mut site = Site::translated(1, &Direction { faults, ..direction(8000) }, |_| {});
    let flow = site.transfer(site.stations[0], site.server, 300_000);
    site.world.run(Instant::from_secs(60), true);
    assert_eq!(site.outcome(flow), 300_000);
    assert!(site.world.accounts().dropped[&DropCause::WrongChecksum] > 5);
}

/// What passes at interfaces.
#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<(LinkId, Packet)>>>);

impl Observer for Capture {
    fn interest(&self) -> Interest {
        Interest::INTERFACES
    }

    fn on_event(&mut self, _: Instant, event: &TraceEvent<'_>) {
        if let TraceEvent::InterfaceOut { link, packet, .. } | TraceEvent::InterfaceIn { link, packet, .. } =
            event
        {
            self.0.lock().expect("no panic while it was locked").push((*link, (*packet).clone()));
        }
    }
}

impl Capture {
    fn of(world: &mut World) -> Self {
        let capture = Self::default();
        world.observe(Box::new(capture.clone()));
        capture
    }

    fn packets(&self) -> Vec<(LinkId, Packet)> {
        self.0.lock().expect("no panic while it was locked").clone()
    }
}

#[test]
fn packet_too_big_reaches_the_sender_on_two_levels_and_it_sends_smaller_packets() {
    for is_inside in [true, false] {
        let mut site = Site::translated(2, &direction(8000), |config| config.keeps_ports = false);
        let capture = Capture::of(&mut site.world);
        let (phone, server, router) = (site.stations[0], site.server, site.router);
        let (from, to) = if is_inside { (phone, server) } else { (server, phone) };
        let flow = site.transfer(from, to, 4_000_000);
        // The air is saturated.
        site.world.advance_to(ms(800));
        // A segment as it is where the message is made: outside, or in the cell.
        let (link, reporter) = if is_inside { (site.outside[0], router) } else { (site.cells[0][0], phone) };
        let packets = capture.packets();
        let large = packets.iter().rfind(|(of, packet)| *of == link && packet.payload().len() == 1000);
        let message = too_big(&large.expect("data has passed").1, site.world.node_address(reporter), 640);
        let message = message.expect("it is about a segment");
        let before = packets.len();
        if is_inside {
            site.world.inject(router, message);
        } else {
            // A router in the cell says so, in the phone's place.
            let mut outer = message;
            let [access_point, central] = [site.access_points[0], site.central];
            for translator in [access_point, central] {
                let now = site.world.now();
                assert_eq!(site.nat(translator).outbound(&mut outer, now), lasthop_nat::Verdict::Translated);
            }
            site.world.inject(router, outer);
        }
        site.world.advance_to(ms(3000));
        let sizes =
            capture.packets()[before..].iter().map(|(_, packet)| packet.payload().len()).collect::<Vec<_>>();
        assert!(sizes.iter().rev().take(200).all(|size| *size <= 600), "{sizes:?}");
        site.world.run(Instant::from_secs(30), true);
        assert_eq!(site.outcome(flow), 4_000_000);
    }
}

#[test]
fn mappings_expire_some_time_after_their_connections_are_over() {
    let mut site = Site::translated(2, &direction(8000), |_| {});
    let (phone, server) = (site.stations[0], site.server);
    let upload = site.transfer(phone, server, 10_000);
    let datagrams = site.datagrams(phone, server);
    site.world.advance_to(Instant::from_secs(10));
    assert!(site.outcome(upload) == 10_000 && site.outcome(datagrams) > 0);
    let now = site.world.now();
    let [ap, central] = [site.access_points[0], site.central];
    assert_eq!((site.nat(ap).len(now), site.nat(central).len(now)), ((2, 2), (2, 2)));
    // 2 minutes of UDP, where only the sender has sent, and 4 of TCP that has been closed.
    site.world.advance_to(Instant::from_secs(130));
    let now = site.world.now();
    assert_eq!((site.nat(ap).len(now), site.nat(central).len(now)), ((1, 1), (1, 1)));
    site.world.advance_to(Instant::from_secs(260));
    let now = site.world.now();
    assert_eq!((site.nat(ap).len(now), site.nat(central).len(now)), ((0, 0), (0, 0)));
}

#[test]
fn a_connection_that_is_idle_for_longer_than_its_mapping_lasts_is_lost() {
    for (interval, arrive) in [(500, 4), (700, 1)] {
        let mut site = Site::translated(2, &direction(8000), |config| {
            config.timeouts.tcp_established = Duration::from_secs(600);
        });
        let beat = Beat::Interval(Duration::from_secs(interval));
        let constant = Application::Constant(Constant { message: 1000, beat, jitter: Duration::ZERO });
        let config = udp_flow(&site.world, (site.stations[0], site.server), constant);
        let tcp = tcp_transport(Opening::Handshake, &Config::default());
        let flow = site.world.add_flow(FlowConfig { transport: tcp, ..config });
        site.world.advance_to(Instant::from_secs(3 * interval + 10));
        assert_eq!(site.outcome(flow), arrive * 1000);
        assert_eq!(site.dropped(Refusal::NoSession) > 0, arrive == 1);
    }
}

#[test]
fn a_host_that_moves_without_its_state_loses_its_connections_in_silence_or_by_a_reset() {
    let [silence, reset] = [false, true].map(|picks_up| {
        let mut site = Site::translated(2, &direction(8000), |config| {
            (config.picks_up, config.keeps_ports) = (picks_up, false);
        });
        let (phone, server) = (site.stations[0], site.server);
        let session = site.session(phone, server, files(50_000_000, 1.0));
        site.world.advance_to(Instant::from_secs(5));
        let before = site.dialogue(session);
        assert!(before.failed == 0 && before.under_way > 0, "{before:?}");
        site.roam(0, 1);
        let mut seconds = 5;
        while site.dialogue(session).failed == 0 {
            seconds += 1;
            assert!(seconds < 200, "it gives up");
            site.world.advance_to(Instant::from_secs(seconds));
        }
        assert!(picks_up || site.dropped(Refusal::NoSession) > 0);
        seconds
    });
    // The server does not know the new outside end, and resets it at the first retransmission.
    assert!(reset < silence && reset <= 8, "{reset} s and {silence} s");
}

#[test]
fn connections_keep_their_outside_ends_through_many_hand_offs() {
    let lossy = Direction { loss: percent(1.0).into(), ..direction(8000) };
    for keeps_ports in [true, false] {
        let mut site = Site::translated(2, &lossy, |config| config.keeps_ports = keeps_ports);
        let capture = Capture::of(&mut site.world);
        let ([phone, tablet], server) = (site.stations, site.server);
        let mut flows = Vec::new();
        for station in [phone, tablet] {
            flows.push(site.transfer(station, server, 1_500_000));
            flows.push(site.transfer(server, station, 1_500_000));
        }
        let session = site.session(phone, server, files(20_000_000, 0.5));
        let mut at = [0, 0];
        for step in 1..=40_usize {
            site.world.advance_to(ms(100 * step as u64));
            let station = step % 2;
            at[station] = 1 - at[station];
            site.hand_off(station, at[station]);
        }
        site.world.advance_to(Instant::from_secs(60));
        for flow in flows {
            assert_eq!(site.outcome(flow), 1_500_000);
        }
        let dialogue = site.dialogue(session);
        assert_eq!(dialogue.failed, 0, "{dialogue:?}");
        // What the server's link has seen of the site: one end for each flow, and the session's two.
        let mut seen = BTreeSet::new();
        for (link, packet) in capture.packets() {
            if link == site.outside[0] && packet.tcp().is_some() {
                let Ends { source, destination, .. } = Ends::from_packet(&packet);
                seen.extend([source, destination].into_iter().filter(|end| end.0 == IpAddr::V4(CENTRAL)));
            }
        }
        assert_eq!(seen.len() as u64, 4 + dialogue.connections, "{seen:?}");
    }
}

/// Records the ends of the packets that it sees.
struct Witness(Arc<Mutex<BTreeSet<(bool, IpAddr, IpAddr)>>>);

impl Agent for Witness {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, _: &mut Context<'_>) -> Verdict {
        let ip = packet.ip();
        let ends = (from == Side::Core, ip.source, ip.destination);
        self.0.lock().expect("no panic while it was locked").insert(ends);
        Verdict::Forward
    }
}

impl Stateless for Witness {}

#[test]
fn an_agent_at_an_access_point_sees_the_addresses_of_its_cell_in_both_directions() {
    let mut site = Site::translated(2, &direction(8000), |_| {});
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let ap = site.access_points[0];
    site.world
        .attach(ap, &[site.cells[0][0]], Box::new(Witness(Arc::clone(&seen))))
        .expect("it needs nothing");
    let (phone, server) = (site.stations[0], site.server);
    let flow = site.transfer(phone, server, 10_000);
    site.world.run(Instant::from_secs(10), true);
    assert_eq!(site.outcome(flow), 10_000);
    let [phone, server] = [phone, server].map(|node| site.world.node_address(node));
    let expected = BTreeSet::from([(true, server, phone), (false, phone, server)]);
    assert_eq!(*seen.lock().expect("no panic while it was locked"), expected);
}

/// The addresses in a packet's headers, and in those of the packet that it quotes.
fn addresses(packet: &Packet) -> Vec<IpAddr> {
    let quoted = Ends::quoted(packet).into_iter().flat_map(|ends| [ends.source.0, ends.destination.0]);
    [packet.ip().source, packet.ip().destination].into_iter().chain(quoted).collect()
}

#[test]
fn no_address_of_a_cell_is_seen_outside_of_it_and_none_of_the_distribution_system_outside_of_the_site() {
    let lossy = Direction { loss: percent(1.0).into(), ..direction(8000) };
    let mut site = Site::translated(2, &lossy, |config| config.filtering = Filtering::Open);
    let capture = Capture::of(&mut site.world);
    let ([phone, tablet], server) = (site.stations, site.server);
    for station in [phone, tablet] {
        site.transfer(station, server, 500_000);
        site.transfer(server, station, 500_000);
    }
    site.session(phone, server, web());
    site.session(server, tablet, web());
    site.datagrams(phone, server);
    let mut at = [0, 0];
    for step in 1..=20_usize {
        site.world.advance_to(ms(100 * step as u64));
        at[step % 2] = 1 - at[step % 2];
        site.hand_off(step % 2, at[step % 2]);
        report_errors(&mut site, &capture, step % 2);
    }
    // A station that moves without its state shows nothing, either.
    site.roam(0, 1 - at[0]);
    site.world.advance_to(Instant::from_secs(30));
    let (mut quotations, mut checked) = ([0; 3], [0; 3]);
    for (link, packet) in capture.packets() {
        let is_quoting = usize::from(Ends::quoted(&packet).is_some());
        let level = if site.outside.contains(&link) {
            for address in addresses(&packet) {
                assert!(!is_of_cell(address) && !is_of_distribution(address), "{packet:?}");
            }
            0
        } else if site.distribution.contains(&link) {
            assert!(!addresses(&packet).into_iter().any(is_of_cell), "{packet:?}");
            1
        } else {
            2
        };
        checked[level] += 1;
        quotations[level] += is_quoting;
    }
    assert!(checked.iter().all(|packets| *packets > 5000), "{checked:?}");
    assert!(quotations.iter().all(|packets| *packets > 20), "{quotations:?}");
}

/// A station reports about the last datagram or segment that it got, and a router outside about the last
/// one that it sent.
fn report_errors(site: &mut Site, capture: &Capture, station: usize) {
    let address = site.world.node_address(site.stations[station]);
    let packets = capture.packets();
    let last = |link: &dyn Fn(LinkId) -> bool, is_one: &dyn Fn(&Packet) -> bool| {
        let found = packets.iter().rev().find(|(of, packet)| link(*of) && is_one(packet));
        found.map(|(_, packet)| packet.clone())
    };
    let is_outside = |link| site.outside.contains(&link);
    let is_air = |link| site.cells[station].contains(&link);
    let sent =
        last(&is_outside, &|packet| packet.ip().source == IpAddr::V4(CENTRAL) && packet.tcp().is_some());
    let received = last(&is_air, &|packet| packet.ip().destination == address && packet.tcp().is_some());
    let router = site.world.node_address(site.router);
    if let Some(message) = sent.and_then(|packet| lasthop_packet::quote::error_about(&packet, router, 11, 0))
    {
        site.world.inject(site.router, message);
    }
    if let Some(message) =
        received.and_then(|packet| lasthop_packet::quote::error_about(&packet, address, 11, 0))
    {
        site.world.inject(site.stations[station], message);
    }
}

#[test]
fn an_endpoint_from_outside_has_the_port_that_was_forwarded() {
    let mut site = Site::translated(2, &direction(8000), |_| {});
    let (phone, server) = (site.stations[0], site.server);
    site.transfer(server, phone, 10_000);
    let endpoint = |address: [u8; 4]| Endpoint::new(Protocol::Tcp, SocketAddrV4::new(address.into(), 5001));
    let (inside, middle, outside) =
        (endpoint([10, 1, 0, 2]), endpoint([172, 16, 0, 1]), endpoint(CENTRAL.octets()));
    assert_eq!(site.nat(site.access_points[0]).outside_of(inside), Some(middle));
    assert_eq!(site.nat(site.central).outside_of(middle), Some(outside));
}

#[test]
fn late_packets_of_a_station_that_has_gone_show_nothing_and_those_to_it_go_no_further() {
    let mut site = Site::translated(2, &direction(8000), |_| {});
    let capture = Capture::of(&mut site.world);
    let (phone, server) = (site.stations[0], site.server);
    let [upload, download] = [site.datagrams(phone, server), site.datagrams(server, phone)];
    site.world.advance_to(ms(500));
    // The old access point and the central translator do not know yet.
    site.roam(0, 1);
    site.world.run(Instant::from_secs(100), true);
    let between = capture.packets().into_iter().filter(|(link, _)| site.distribution.contains(link));
    assert!(!between.flat_map(|(_, packet)| addresses(&packet)).any(is_of_cell));
    let [sent_on, lost] = [upload, download].map(|flow| *site.world.outcome(flow).udp().expect("over UDP"));
    assert_eq!(sent_on.received, 200, "with another outside end");
    assert!(lost.received < 60 && lost.lost > 140, "{lost:?}");
    assert!(site.world.accounts().balance());
}
