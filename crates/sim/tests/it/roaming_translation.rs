//! Clients that roam between access points that translate their addresses: each on its own, or with mappings that
//! follow the clients and a central translator that redirects its own.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lasthop_agent::{Context, Side, Verdict};
use lasthop_apps::session::{DialogueKind, Ftp, Pace, Size};
use lasthop_apps::traffic::{Beat, Codec, Constant, Media, Voice};
use lasthop_nat::{NatConfig, Refusal};
use lasthop_packet::{Bitrate, Ends, Instant, Packet, Probability, Rng, TcpFlags};
use lasthop_sim::ess::{AccessPointId, ClientId};
use lasthop_sim::world::{Change, LinkDirection};
use lasthop_sim::{
    Activity, Application, DialogueOutcome, DropCause, FlowConfig, FlowId, HandOffConfig, Interest, LinkId,
    NodeId, Observer, Opening, Playout, SessionConfig, SessionId, SessionResult, SessionTcp, TraceEvent,
};
use lasthop_tcp::Config;

use crate::roaming::{Plan, Site};
use crate::support::{ms, percent, tcp_transport, udp_flow};

/// How a site translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Levels {
    /// The switch alone.
    Central,
    /// The access points and the switch, without knowing of each other.
    Independent,
    /// The same; mappings follow clients.
    Following,
}

/// Access points that one client walks past, and a server outside of the site. `loose`: translators pick connections up
/// that have begun elsewhere, as Linux does.
fn site(levels: Levels, loose: bool, seed: u64) -> Site {
    let mut plan = Plan::new(4, &[2.0]);
    plan.seed = seed;
    translated(plan, levels, loose)
}

fn translated(plan: Plan, levels: Levels, loose: bool) -> Site {
    let mut site = plan.build(|config| config.short_interval = Duration::from_secs(3));
    let mut translate = |node: NodeId, inside: &[LinkId]| {
        let IpAddr::V4(address) = site.world.node_address(node) else { panic!("it is IPv4") };
        let config = NatConfig { picks_up: loose, ..NatConfig::new(vec![address]) };
        site.world.translate(node, inside, config).expect("it is a router");
    };
    translate(site.switch, &site.cables);
    if levels != Levels::Central {
        for access_point in &site.access_points {
            translate(*access_point, &[]);
        }
    }
    if levels == Levels::Following {
        let config = HandOffConfig { central: Some(site.switch), ..HandOffConfig::new(site.switch) };
        site.world.hand_over(site.set, config);
    }
    site
}

fn tcp() -> Config {
    Config { mss: 1000, max_timeouts: 5, ..Config::default() }
}

fn transfer(site: &mut Site, (from, to): (NodeId, NodeId), start: Instant, octets: u64) -> FlowId {
    let config = udp_flow(&site.world, (from, to), Application::transfer(Some(octets)));
    let transport = tcp_transport(Opening::Handshake, &tcp());
    site.world.add_flow(FlowConfig { start, transport, ..config })
}

/// The client fetches one file after another.
fn files(site: &mut Site, octets: u64) -> SessionId {
    ftp(site, Ftp { file: Size::Fixed(octets), stored: Probability::ZERO })
}

fn ftp(site: &mut Site, ftp: Ftp) -> SessionId {
    let pace = Pace::Think(Duration::from_millis(500));
    site.world.add_session(SessionConfig {
        name: "files".to_owned(),
        index: 0,
        client: site.clients[0],
        server: site.server,
        start: ms(1_000),
        stop: None,
        activity: Activity::Dialogue {
            dialogue: DialogueKind::Ftp(ftp),
            pace,
            tcp: SessionTcp::alike(&tcp()),
        },
    })
}

fn dialogue(site: &Site, session: SessionId) -> DialogueOutcome {
    let outcome = site.world.session_outcome(session);
    assert!(outcome.intact && site.world.accounts().balance());
    let SessionResult::Dialogue(dialogue) = outcome.result else { panic!("it is a dialogue") };
    dialogue
}

fn hand_offs(site: &Site) -> usize {
    site.world.roams().iter().filter(|roam| roam.from.is_some()).count()
}

fn dropped(site: &Site, refusal: Refusal) -> u64 {
    site.world.accounts().dropped.get(&DropCause::Translation(refusal)).copied().unwrap_or(0)
}

/// Packets that passed at interfaces, with the link.
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
    fn of(site: &mut Site) -> Self {
        let capture = Self::default();
        site.world.observe(Box::new(capture.clone()));
        capture
    }

    fn packets(&self) -> Vec<(LinkId, Packet)> {
        self.0.lock().expect("no panic while it was locked").clone()
    }

    /// The ends of TCP connections on a link at this address, and the number of resets.
    fn ends(&self, link: LinkId, address: IpAddr) -> (usize, usize) {
        let (mut ends, mut resets) = (BTreeSet::new(), 0);
        for (_, packet) in self.packets().into_iter().filter(|(of, _)| *of == link) {
            let Some(tcp) = packet.tcp() else { continue };
            resets += usize::from(tcp.flags.has(TcpFlags::RST));
            let Ends { source, destination, .. } = Ends::from_packet(&packet);
            ends.extend([source, destination].into_iter().filter(|end| end.0 == address));
        }
        (ends.len(), resets)
    }
}

#[test]
fn connections_keep_their_outside_ends_where_mappings_follow_the_client() {
    for loose in [false, true] {
        let mut site = site(Levels::Following, loose, 1);
        let capture = Capture::of(&mut site);
        site.walk(0, 3, 148.0);
        let (client, server) = (site.clients[0], site.server);
        let upload = transfer(&mut site, (client, server), ms(1_000), 8_000_000);
        let download = transfer(&mut site, (server, client), ms(1_000), 40_000_000);
        let session = files(&mut site, 3_000_000);
        site.world.advance_to(Instant::from_secs(200));
        assert_eq!(hand_offs(&site), 3);
        for flow in [upload, download] {
            let outcome = site.world.outcome(flow);
            assert!(outcome.completion.is_some() && outcome.intact, "{outcome:?}");
        }
        let dialogue = dialogue(&site, session);
        assert_eq!(dialogue.failed, 0, "{dialogue:?}");
        let (ends, resets) = capture.ends(site.uplink, site.world.node_address(site.switch));
        assert_eq!((ends as u64, resets), (2 + dialogue.connections, 0));
        for roam in site.world.roams().iter().filter(|roam| roam.from.is_some()) {
            let gap = roam.served.expect("it was served").since(roam.accepted);
            assert!(gap < Duration::from_millis(40), "{roam:?}");
        }
        assert_eq!(site.world.reported().sum(), 0, "nothing went wrong");
    }
}

#[test]
fn connections_survive_a_client_that_is_sent_to_and_fro_over_lossy_wires() {
    for seed in 1..=4 {
        let mut plan = Plan::new(3, &[50.0]);
        plan.seed = seed;
        let mut site = translated(plan, Levels::Following, seed % 2 == 0);
        let capture = Capture::of(&mut site);
        for cable in site.cables.clone() {
            let change = Change::Loss(percent(0.5).into());
            site.world.reconfigure_link(cable, LinkDirection::Both, &change).expect("a wired link");
        }
        let (client, server) = (site.clients[0], site.server);
        let upload = transfer(&mut site, (client, server), ms(1_000), 1_000_000);
        let download = transfer(&mut site, (server, client), ms(1_000), 1_000_000);
        let session = files(&mut site, 300_000);
        let mut rng = Rng::named(seed, "where to");
        for _ in 0..60 {
            let pause = 20 + rng.below(200);
            let next = site.world.now() + Duration::from_millis(pause);
            site.world.advance_to(next.max(ms(1_200)));
            let to = AccessPointId(rng.below(3) as u32);
            site.world.steer(site.set, ClientId(0), &[to]);
        }
        site.world.advance_to(Instant::from_secs(60));
        assert!(hand_offs(&site) > 25, "{}", hand_offs(&site));
        for flow in [upload, download] {
            let outcome = site.world.outcome(flow);
            assert!(outcome.completion.is_some() && outcome.intact, "seed {seed}: {outcome:?}");
        }
        let dialogue = dialogue(&site, session);
        assert_eq!(dialogue.failed, 0, "{dialogue:?}");
        let (ends, resets) = capture.ends(site.uplink, site.world.node_address(site.switch));
        assert_eq!((ends as u64, resets), (2 + dialogue.connections, 0), "seed {seed}");
        assert_eq!(site.world.reported().sum(), 0, "nothing went wrong");
    }
}

#[test]
fn connections_break_where_each_access_point_translates_on_its_own() {
    // Silence, until the client gives up; or a reset of the server, which does not know the new outside end of the
    // segments that the client sends.
    let [silence, reset] = [false, true].map(|loose| {
        let mut site = site(Levels::Independent, loose, 1);
        site.walk(0, 3, 48.0);
        let session = ftp(&mut site, Ftp { file: Size::Fixed(100_000_000), stored: percent(100.0) });
        while hand_offs(&site) == 0 {
            let next = site.world.now() + Duration::from_millis(100);
            site.world.advance_to(next);
        }
        assert_eq!(dialogue(&site, session).failed, 0);
        let gone = site.world.now();
        while dialogue(&site, session).failed == 0 {
            let next = site.world.now() + Duration::from_millis(100);
            site.world.advance_to(next);
            assert!(site.world.now() < Instant::from_secs(400), "it gives up");
        }
        assert!(loose || dropped(&site, Refusal::NoSession) > 0);
        site.world.now().since(gone)
    });
    assert!(reset < Duration::from_secs(2) && silence > Duration::from_secs(5), "{reset:?} {silence:?}");
}

#[test]
fn one_translator_for_the_whole_site_breaks_nothing() {
    let mut site = site(Levels::Central, false, 1);
    site.walk(0, 3, 148.0);
    let (client, server) = (site.clients[0], site.server);
    let download = transfer(&mut site, (server, client), ms(1_000), 20_000_000);
    let session = files(&mut site, 3_000_000);
    site.world.advance_to(Instant::from_secs(160));
    assert_eq!(hand_offs(&site), 3);
    assert!(site.world.outcome(download).completion.is_some());
    assert_eq!(dialogue(&site, session).failed, 0);
}

#[test]
fn a_client_is_reached_from_outside_as_soon_as_it_has_an_access_point() {
    for levels in [Levels::Central, Levels::Independent, Levels::Following] {
        let mut site = site(levels, false, 1);
        let (client, server) = (site.clients[0], site.server);
        let flows = [0, 500].map(|start| transfer(&mut site, (server, client), ms(start), 100_000));
        let beat = Beat::Rate(Bitrate::from_bps(80_000).expect("above zero"));
        let constant = Constant { message: 500, beat, jitter: Duration::ZERO };
        let config = udp_flow(&site.world, (server, client), Application::Constant(constant));
        let datagrams = site.world.add_flow(FlowConfig { stop: Some(ms(4_000)), ..config });
        site.world.advance_to(ms(5_000));
        for flow in flows {
            assert!(site.world.outcome(flow).completion.is_some(), "{levels:?}");
        }
        let udp = *site.world.outcome(datagrams).udp().expect("it is over UDP");
        assert!(udp.received > 50 && udp.lost == 0, "{levels:?}: {udp:?}");
    }
}

#[test]
fn both_parties_of_a_call_hear_each_other_across_hand_offs() {
    let mut site = site(Levels::Following, false, 1);
    site.walk(0, 3, 148.0);
    let codec = Codec::G711 { concealment: true };
    let voice = Voice { codec, packet_time: Duration::from_millis(20), spurts: None };
    let media = Some(Media::Voice(voice, Playout { buffer: Duration::from_millis(60) }));
    let call = site.world.add_session(SessionConfig {
        name: "call".to_owned(),
        index: 0,
        client: site.server,
        server: site.clients[0],
        start: ms(1_000),
        stop: Some(Instant::from_secs(150)),
        activity: Activity::Call([media, media]),
    });
    site.world.run(Instant::from_secs(160), true);
    assert_eq!(hand_offs(&site), 3);
    let SessionResult::Call(call) = site.world.session_outcome(call).result else { panic!("it is a call") };
    for (_, stream) in &call.streams {
        let packets = stream.packets;
        assert!(packets.sent > 7_000 && packets.lost < 40, "{packets:?}");
    }
}

#[test]
fn an_agent_and_the_mappings_move_together_and_what_comes_before_them_waits() {
    let mut site = site(Levels::Following, true, 1);
    for access_point in 0..4 {
        let agent = |_: &mut Packet, _: Side, _: &mut Context<'_>| Verdict::Forward;
        let attached = site.world.attach_to_clients(site.set, AccessPointId(access_point), Box::new(agent));
        attached.expect("it needs nothing");
    }
    site.walk(0, 3, 148.0);
    let session = files(&mut site, 3_000_000);
    site.world.advance_to(Instant::from_secs(150));
    assert_eq!((hand_offs(&site), dialogue(&site, session).failed), (3, 0));
}

/// The addresses in a packet's headers, and in those of the packet that it quotes.
fn addresses(packet: &Packet) -> Vec<IpAddr> {
    let quoted = Ends::quoted(packet).into_iter().flat_map(|ends| [ends.source.0, ends.destination.0]);
    [packet.ip().source, packet.ip().destination].into_iter().chain(quoted).collect()
}

#[test]
fn a_client_that_roams_is_not_seen_outside_of_its_cell_nor_an_access_point_outside_of_the_site() {
    for levels in [Levels::Following, Levels::Independent] {
        for seed in 1..=3 {
            let mut site = site(levels, seed == 2, seed);
            let capture = Capture::of(&mut site);
            site.walk(0, 3, 148.0);
            let (client, server) = (site.clients[0], site.server);
            transfer(&mut site, (client, server), ms(1_000), 8_000_000);
            transfer(&mut site, (server, client), ms(1_000), 8_000_000);
            files(&mut site, 1_000_000);
            let beat = Beat::Rate(Bitrate::from_bps(80_000).expect("above zero"));
            let constant = Constant { message: 500, beat, jitter: Duration::ZERO };
            for ends in [(client, server), (server, client)] {
                let config = udp_flow(&site.world, ends, Application::Constant(constant));
                site.world.add_flow(FlowConfig { start: ms(1_000), ..config });
            }
            site.world.advance_to(Instant::from_secs(150));
            assert_eq!(hand_offs(&site), 3, "{levels:?}");
            let of_client = site.world.node_address(client);
            let of_site: Vec<IpAddr> =
                site.access_points.iter().map(|node| site.world.node_address(*node)).collect();
            let mut checked = [0, 0];
            for (link, packet) in capture.packets() {
                let seen = addresses(&packet);
                if link == site.uplink {
                    assert!(!seen.iter().any(|it| *it == of_client || of_site.contains(it)), "{packet:?}");
                    checked[0] += 1;
                } else if site.cables.contains(&link) {
                    assert!(!seen.contains(&of_client), "{packet:?}");
                    checked[1] += 1;
                }
            }
            assert!(checked.iter().all(|packets| *packets > 5_000), "{checked:?}");
        }
    }
}
