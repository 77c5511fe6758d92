//! The places of agents if a scenario's links are between real hosts.

use lasthop_agent::counter::{ACKS_GENERATED, ACKS_SUPPRESSED};
use std::net::IpAddr;
use std::path::Path;

use lasthop_agent::Stack;
use lasthop_packet::{Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags};
use lasthop_scenario::{BuiltLinks, Overrides, RealHosts, Scenario, WifiStack, file};
use lasthop_schemes::catalog::find;
use lasthop_schemes::{Role, Seat};
use lasthop_sim::world::AttachError;
use lasthop_sim::{NodeId, SessionId, SessionResult, World};

/// A real client and a simulated one behind a real gateway.
const SCENARIO: &str = r#"
duration = "10 s"
schemes = ["none", "lle-tcp", "snoop"]
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.client.kind = "host"
nodes.far.kind = "host"
nodes.other.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "5 ms" }
links.long = { between = ["far", "gateway"], rate = "100 Mbit/s", delay = "5 ms" }
wlans.cell = { standard = "802.11b", access-point = "gateway", stations = ["client", "other"] }
flows.download = { from = "server", to = "client" }
flows.beside = { from = "far", to = "other" }
tcp = { window = "16 KiB" }
try = { simulated = ["far", "other"] }
"#;

/// In the scenario's order.
const LINKS: [&str; 4] = ["wire", "long", "cell.client", "cell.other"];
const GATEWAY: usize = 1;

fn scenario() -> Scenario {
    let scenario = file::parse(SCENARIO, "trial.toml", Path::new(""), &Overrides::default());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = scenario.links.iter().map(lasthop_scenario::LinkModel::name).collect();
    assert_eq!(names, LINKS);
    scenario
}

fn address(node: usize) -> IpAddr {
    IpAddr::from([198, 51, 100, node as u8])
}

fn build(scenario: &Scenario, scheme: &str) -> BuiltLinks {
    let addresses: Vec<IpAddr> = (0..scenario.nodes.len()).map(address).collect();
    let scheme = scenario.schemes.iter().find(|choice| choice.label == scheme).expect("a row");
    let hosts = RealHosts { gateways: &[GATEWAY], addresses: &addresses, wifi: WifiStack::World };
    scenario.build_links(scheme, 1, hosts).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether there is an agent at each end of each link.
fn seats(mut built: BuiltLinks) -> Vec<[bool; 2]> {
    let links: Vec<_> =
        built.links.iter().zip(&built.transmitters).map(|(link, ends)| (*link, *ends)).collect();
    let mut is_taken = |node, link| match built.world.attach(node, &[link], Box::new(Stack::new(Vec::new())))
    {
        Ok(()) => false,
        Err(AttachError::Occupied(_)) => true,
        Err(refusal) => panic!("{refusal}"),
    };
    links.into_iter().map(|(link, (first, second))| [is_taken(first, link), is_taken(second, link)]).collect()
}

#[test]
fn agents_are_at_every_radio_except_the_gateways_own_toward_real_hosts() {
    let scenario = scenario();
    let (wire, gateway_and_client) = ([false; 2], |gateway, client| [gateway, client]);
    let seats = |scheme| seats(build(&scenario, scheme));
    let nobody = gateway_and_client(false, false);
    assert_eq!(seats("none"), [wire, wire, nobody, nobody]);
    assert_eq!(
        seats("lle-tcp"),
        [wire, wire, gateway_and_client(false, true), gateway_and_client(true, true)]
    );
    assert_eq!(seats("snoop"), [wire, wire, nobody, gateway_and_client(true, false)], "only at the edge");
}

#[test]
fn simulated_stations_have_agents_as_in_a_simulation() {
    let scenario = scenario();
    for (scheme, acts) in [("none", false), ("lle-tcp", true)] {
        let mut world = build(&scenario, scheme).world;
        world.advance_to(Instant::from_secs(5));
        let reported = world.reported();
        assert_eq!([&ACKS_GENERATED, &ACKS_SUPPRESSED].map(|counter| reported.get(counter) > 500), [acts; 2]);
        assert!(world.accounts().balance());
    }
}

/// The real gateway is between the simulated station, which it reaches over the air, and the simulated server.
#[test]
fn a_simulated_station_reaches_its_server_through_real_hosts_if_these_have_the_mac_layer() {
    let scenario = scenario();
    let addresses: Vec<IpAddr> = (0..scenario.nodes.len()).map(address).collect();
    let hosts = RealHosts { gateways: &[GATEWAY], addresses: &addresses, wifi: WifiStack::Hosts };
    let mut built = scenario.build_links(&scenario.schemes[0], 1, hosts).expect("it is possible");
    let [of_station] = built.station_hosts[..] else { panic!("one station is simulated") };
    let (far, device) = built.ends[1];
    let flow = built.world.flows().next().expect("the background");
    for step in 0..5000 {
        built.world.advance_to(Instant::from_millis(step));
        for (_, packet) in built.world.collect(of_station.station) {
            assert_eq!((packet.ip().source, packet.ip().destination), (address(4), address(3)));
            built.world.inject_to(device, far, packet);
        }
        if step > 1000 {
            for (_, packet) in built.world.collect(device) {
                built.world.inject_to(of_station.station, of_station.host, packet);
            }
        }
    }
    let outcome = built.world.outcome(flow);
    assert!(outcome.octets > 1_000_000, "{outcome:?}");
    assert!(built.world.accounts().balance());
}

#[test]
fn a_background_session_draws_the_same_values_as_in_the_prediction() {
    let sessions = r#"
sessions.pages = { kind = "web", client = "client", server = "server" }
sessions.beside = { kind = "voice", between = ["other", "far"], talk-spurts = "p59" }
"#;
    let text = format!("{SCENARIO}{sessions}");
    let scenario = file::parse(&text, "trial.toml", Path::new(""), &Overrides::default());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let between_hosts = build(&scenario, "none").world;
    let background = between_hosts.sessions().next().expect("the call");
    let predicted = scenario.build(&scenario.schemes[0], 1).expect("a world");
    let call = predicted.sessions[1];
    let sent = |mut world: World, call: SessionId| {
        world.advance_to(Instant::from_secs(60));
        match world.session_outcome(call).result {
            SessionResult::Call(call) => {
                call.streams.iter().map(|(_, of)| of.packets.sent).collect::<Vec<_>>()
            }
            SessionResult::Dialogue(_) => panic!("a call"),
        }
    };
    assert_eq!(sent(between_hosts, background), sent(predicted.world, call));
}

/// A scripted connection between the real server and the real client.
struct Hosts {
    built: BuiltLinks,
    /// The nodes of the gateway's and of the client's device.
    ends: (NodeId, NodeId),
}

impl Hosts {
    fn segment(from_client: bool, flags: TcpFlags, (seq, ack): (u32, u32), len: u32) -> Packet {
        let (from, to) = if from_client { (2, 0) } else { (0, 2) };
        let ports = if from_client { (2000, 80) } else { (80, 2000) };
        let mut tcp = Tcp {
            source_port: ports.0,
            destination_port: ports.1,
            seq: Seq(seq),
            ack: Seq(ack),
            flags,
            window: 60_000,
            ..Tcp::default()
        };
        if flags.has(TcpFlags::SYN) {
            tcp.options.maximum_segment_size = Some(1460);
        }
        let payload = Payload::Bytes(vec![7; len as usize].into());
        Packet::tcp_segment(Ip::new(address(from), address(to)), tcp, payload)
    }

    /// Sends a segment and waits for `millis`. Returns the flags, ACK number and urgent pointer of
    /// all segments that arrived at gateway and client.
    fn send(
        &mut self,
        from_client: bool,
        flags: TcpFlags,
        numbers: (u32, u32),
        len: u32,
        millis: u64,
    ) -> [Vec<(TcpFlags, u32, u16)>; 2] {
        let packet = Self::segment(from_client, flags, numbers, len);
        let (gateway, client) = self.ends;
        let (from, to) = if from_client { (client, gateway) } else { (gateway, client) };
        self.built.world.inject_to(from, to, packet);
        let until = self.built.world.now() + std::time::Duration::from_millis(millis);
        self.built.world.advance_to(until);
        [gateway, client].map(|end| {
            let arrived = self.built.world.collect(end).into_iter();
            arrived
                .filter_map(|(_, packet)| packet.tcp().map(|tcp| (tcp.flags, tcp.ack.0, tcp.urgent_pointer)))
                .collect()
        })
    }
}

#[test]
fn the_clients_agent_keeps_its_acks_off_the_air_and_leaves_no_marks() {
    let mut scenario = scenario();
    scenario.keep_flows(|_, flow| flow.name == "download");
    let mut built = build(&scenario, "lle-tcp");
    let (link, (gateway, _)) = (built.links[2], built.transmitters[2]);
    // In a trial this agent runs in the gateway on its own host.
    let seat = Seat { role: Role::Edge, address: address(GATEWAY) };
    let lle = find("lle-tcp").and_then(|scheme| scheme.configure(toml::Table::new())).expect("it is there");
    built.world.attach(gateway, &[link], lle.agent(seat).expect("it has one")).expect("nobody sits there");
    let ends = built.ends[2];
    let mut hosts = Hosts { built, ends };
    let (syn, ack) = (TcpFlags::SYN, TcpFlags::ACK);
    let syn_ack = TcpFlags(syn.0 | ack.0);

    assert_eq!(hosts.send(true, syn, (99, 0), 0, 50), [vec![(syn, 0, 0)], vec![]]);
    // The gateway marks its offer, and the client's agent removes the mark.
    assert_eq!(hosts.send(false, syn_ack, (499, 100), 0, 50)[1], [(syn_ack, 100, 0)]);
    assert_eq!(hosts.send(true, ack, (100, 500), 0, 50)[0], [(ack, 500, 0)]);
    // From now on the gateway generates ACKs for segments that the link layer delivers, to the
    // server's address at this link.
    let sent = hosts.send(false, ack, (500, 100), 1000, 50);
    assert_eq!(sent, [vec![(ack, 1500, 0)], vec![(ack, 100, 0)]], "made by the gateway's agent");
    // The client's own ACK crosses the air only as evidence, which the gateway does not forward.
    assert_eq!(hosts.send(true, ack, (100, 1500), 0, 50), [vec![], vec![]]);
    assert_eq!(hosts.built.world.reported().get(&ACKS_SUPPRESSED), 1);
    assert_eq!(hosts.send(false, ack, (1500, 100), 1000, 200)[0], [(ack, 2500, 0)]);
    assert_eq!(hosts.built.world.reported().get(&ACKS_SUPPRESSED), 2, "the evidence, at the gateway");
    let accounts = hosts.built.world.accounts();
    assert!(accounts.balance() && !accounts.dropped.contains_key(&lasthop_sim::DropCause::NoRoute));
}
