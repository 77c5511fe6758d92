//! Access points and clients that roam between them.

use std::time::Duration;

use lasthop_agent::{Accounts, Agent, Context, FlowState, ImportError, Scope, Side, Transfer, Verdict};
use lasthop_apps::traffic::{Beat, Constant};
use lasthop_packet::{Bitrate, FlowKey, Instant, Packet};
use lasthop_sim::ess::client::Steering;
use lasthop_sim::ess::{
    AccessPointConfig, AccessPointId, ClientConfig, ClientId, ControllerConfig, Dbm, FrameSizes, Security,
};
use lasthop_sim::mobility::Path;
use lasthop_sim::{
    AccessPointMember, Application, ClientMember, DropCause, FlowConfig, HandOffConfig, LinkId, Load, NodeId,
    NodeKind, ServiceSetConfig, ServiceSetId, StationId, SteeringConfig, WlanId, World,
};
use lasthop_wifi::{Channel, LogDistance, Position, Propagation, Rate, Standard, StationConfig, WlanConfig};

use crate::support::{direction, flow, hash, ms, node, udp_flow, wired};

/// A server, a switch, and access points on a line, each 50 m from the next, on three channels in turn.
pub struct Site {
    pub world: World,
    wlan: WlanId,
    pub set: ServiceSetId,
    pub server: NodeId,
    pub switch: NodeId,
    /// Between server and switch.
    pub uplink: LinkId,
    /// Between the switch and each access point.
    pub cables: Vec<LinkId>,
    pub access_points: Vec<NodeId>,
    pub clients: Vec<NodeId>,
    stations: Vec<StationId>,
}

const SPACING: f64 = 50.0;

/// How a site is built.
pub struct Plan {
    access_points: usize,
    channels: u16,
    /// The metres along the line at which each client is.
    clients: Vec<f64>,
    pub security: Security,
    pub seed: u64,
    /// The rate of the wires to the access points, in kbit/s.
    wire_kbps: u64,
    /// The delay of the wire to the server, in milliseconds.
    registry_delay: u64,
}

impl Plan {
    pub fn new(access_points: usize, clients: &[f64]) -> Self {
        Self {
            access_points,
            channels: 3,
            clients: clients.to_vec(),
            security: Security::Open,
            seed: 1,
            wire_kbps: 100_000,
            registry_delay: 5,
        }
    }

    pub fn build(self, configure: impl Fn(&mut ClientConfig)) -> Site {
        let mut world = World::new(self.seed);
        let server = node(&mut world, "server", NodeKind::Host);
        let switch = node(&mut world, "switch", NodeKind::Router);
        let uplink = wired("server-switch", &direction(100_000), self.registry_delay);
        let uplink = world.add_wired_link(server, switch, &uplink);
        let propagation = Propagation::LogDistance(LogDistance::OFDM);
        let mut config = WlanConfig { propagation, ..WlanConfig::new(Standard::Ofdm) };
        config.phy.rate = Rate::OFDM_6;
        let wlan = world.add_wlan("floor", config);
        let (mut access_points, mut members, mut cables) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..self.access_points {
            let ap = node(&mut world, &format!("ap {number}"), NodeKind::Router);
            let link = wired(&format!("switch-ap {number}"), &direction(self.wire_kbps), 1);
            cables.push(world.add_wired_link(switch, ap, &link));
            let channel = Channel(number as u16 % self.channels);
            let position = Position::new(SPACING * number as f64, 0.0);
            let config = StationConfig { position, channel: Some(channel), ..StationConfig::default() };
            let station = world.add_station(wlan, ap, &config);
            let config = AccessPointConfig { security: self.security, ..AccessPointConfig::default() };
            members.push(AccessPointMember { station, config });
            access_points.push(ap);
        }
        let channels = (0..self.channels).map(lasthop_sim::ess::Channel).collect();
        let mut config = ClientConfig::new(channels);
        configure(&mut config);
        let (mut clients, mut stations, mut of_clients) = (Vec::new(), Vec::new(), Vec::new());
        for (number, metres) in self.clients.into_iter().enumerate() {
            let client = node(&mut world, &format!("client {number}"), NodeKind::Host);
            let position = Position::new(metres, 3.0);
            let off = StationConfig { position, channel: None, ..StationConfig::default() };
            let station = world.add_station(wlan, client, &off);
            let link = format!("air {number}");
            let (config, start) = (config.clone(), Instant::ZERO);
            of_clients.push(ClientMember { link, station, config, start });
            clients.push(client);
            stations.push(station);
        }
        let sizes = FrameSizes { security: self.security, ..FrameSizes::default() };
        let config = ServiceSetConfig { sizes, ..ServiceSetConfig::default() };
        let (set, _) = world.add_service_set(wlan, "site", config, members, of_clients);
        Site { world, wlan, set, server, switch, uplink, cables, access_points, clients, stations }
    }
}

impl Site {
    /// A client walks along the line at a metre a second from a time on.
    pub fn walk(&mut self, client: usize, start: u64, to: f64) {
        let from = self.world.wlan(self.wlan).position(self.stations[client]);
        let seconds = (to - from.x).abs();
        let end = Instant::from_secs(start) + Duration::from_secs_f64(seconds);
        let path = vec![(Instant::from_secs(start), from), (end, Position::new(to, from.y))];
        let path = Path::new(path).expect("time goes on");
        let interval = Duration::from_millis(100);
        self.world.follow_paths(self.wlan, interval, vec![(self.stations[client], path)]);
    }

    fn associations(&self) -> Vec<Option<NodeId>> {
        let of = |number| self.world.association(self.set, ClientId(number as u32));
        (0..self.clients.len()).map(of).collect()
    }
}

/// Datagrams of 500 octets, with so many kilobits a second.
fn datagrams(kbps: u64) -> Application {
    let beat = Beat::Rate(Bitrate::from_bps(kbps * 1000).expect("above zero"));
    Application::Constant(Constant { message: 500, beat, jitter: Duration::ZERO })
}

#[test]
fn each_client_associates_with_the_access_point_nearest_to_it() {
    let mut site = Plan::new(3, &[4.0, 48.0, 61.0, 90.0]).build(|_| {});
    site.world.advance_to(ms(1_000));
    let nearest = [0, 1, 1, 2].map(|ap| Some(site.access_points[ap]));
    assert_eq!(site.associations(), nearest);
    assert!(site.world.accounts().balance());
}

#[test]
fn a_connection_survives_a_walk_past_all_access_points() {
    for security in [Security::Open, Security::FourWayHandshake, Security::FastTransition] {
        let plan = Plan { security, ..Plan::new(4, &[2.0]) };
        let mut site = plan.build(|config| config.short_interval = Duration::from_secs(3));
        site.walk(0, 3, 148.0);
        let ends = (site.server, site.clients[0]);
        let flows = [(ends, 60_000_000), ((ends.1, ends.0), 4_000_000)].map(|(ends, octets)| {
            let config = FlowConfig { start: ms(1_000), ..flow(&site.world, ends, Some(octets)) };
            site.world.add_flow(config)
        });
        site.world.run(Instant::from_secs(400), true);
        let roams = site.world.roams();
        let visited: Vec<NodeId> = roams.iter().map(|roam| roam.to).collect();
        assert_eq!(visited, site.access_points, "{security:?}");
        for roam in &roams[1..] {
            let (_, left) = roam.from.expect("it was associated");
            let gap = roam.joined.expect("it knows").since(left);
            // A change of the channel, and four to eight frames.
            assert!((Duration::from_millis(3)..Duration::from_millis(40)).contains(&gap), "{gap:?}");
        }
        for flow in flows {
            let outcome = site.world.outcome(flow);
            assert!(outcome.completion.is_some() && outcome.intact, "{outcome:?}");
        }
        assert!(site.world.accounts().balance());
    }
}

#[test]
fn a_client_that_scans_loses_no_packet() {
    let mut site = Plan::new(2, &[20.0]).build(|config| config.long_interval = Duration::from_secs(1));
    let udp = |site: &Site, ends| FlowConfig {
        start: ms(1_000),
        stop: Some(ms(20_000)),
        ..udp_flow(&site.world, ends, datagrams(200))
    };
    let ends = (site.server, site.clients[0]);
    let flows = [ends, (ends.1, ends.0)].map(|ends| {
        let config = udp(&site, ends);
        site.world.add_flow(config)
    });
    site.world.advance_to(ms(21_000));
    assert_eq!(site.world.roams().len(), 1, "it stays");
    for flow in flows {
        let outcome = site.world.outcome(flow);
        let udp = outcome.udp().expect("it is over UDP");
        assert_eq!((udp.lost, udp.in_transit), (0, 0), "{outcome:?}");
        // It was on other channels for 60 ms at a time.
        assert!(udp.delay.is_some_and(|delay| delay.p95_s > 0.01), "{udp:?}");
    }
}

#[test]
fn what_is_for_a_client_that_is_not_associated_is_dropped_there() {
    let mut site = Plan::new(2, &[20.0, 1_000.0]).build(|_| {});
    let ends = (site.server, site.clients[1]);
    let config = udp_flow(&site.world, ends, datagrams(40));
    let away = site.world.add_flow(config);
    let config = udp_flow(&site.world, (ends.1, ends.0), datagrams(40));
    let back = site.world.add_flow(config);
    site.world.advance_to(ms(5_000));
    assert_eq!(site.associations(), [Some(site.access_points[0]), None]);
    let accounts = site.world.accounts();
    let dropped = accounts.dropped.get(&DropCause::NotAssociated).copied().unwrap_or(0);
    assert!(dropped >= 90 && accounts.balance(), "{accounts:?}");
    for flow in [away, back] {
        assert_eq!(site.world.outcome(flow).octets, 0);
    }
}

#[test]
fn a_client_that_is_asked_to_goes_to_another_access_point() {
    let mut site = Plan::new(2, &[20.0]).build(|_| {});
    site.world.advance_to(ms(1_000));
    site.world.steer(site.set, ClientId(0), &[AccessPointId(1)]);
    site.world.advance_to(ms(1_100));
    assert_eq!(site.associations(), [Some(site.access_points[1])]);
}

#[test]
fn a_run_repeats() {
    let run = |seed| {
        let plan = Plan { seed, ..Plan::new(3, &[2.0, 60.0]) };
        let mut site = plan.build(|config| config.short_interval = Duration::from_secs(3));
        let hash = hash(&mut site.world);
        site.walk(0, 1, 98.0);
        let ends = (site.server, site.clients[0]);
        let config = FlowConfig { start: ms(1_000), ..flow(&site.world, ends, None) };
        site.world.add_flow(config);
        site.world.advance_to(Instant::from_secs(90));
        assert_eq!(site.world.roams().len(), 4, "two of the walker, and the first ones");
        hash()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_registry_may_be_at_a_host() {
    let mut site = Plan::new(2, &[20.0]).build(|_| {});
    site.world.hand_over(site.set, HandOffConfig::new(site.server));
    for access_point in 0..2 {
        let agent = |_: &mut Packet, _: Side, _: &mut Context<'_>| Verdict::Forward;
        let attached = site.world.attach_to_clients(site.set, AccessPointId(access_point), Box::new(agent));
        attached.expect("it needs nothing");
    }
    site.world.advance_to(ms(1_000));
    site.world.steer(site.set, ClientId(0), &[AccessPointId(1)]);
    site.world.advance_to(ms(2_000));
    let [_, roam] = site.world.roams()[..] else { panic!("{:?}", site.world.roams()) };
    assert!(roam.served.is_some_and(|served| served < ms(1_100)), "{roam:?}");
    let ends = (site.server, site.clients[0]);
    let config = FlowConfig { start: ms(2_000), ..flow(&site.world, ends, Some(100_000)) };
    let flow = site.world.add_flow(config);
    site.world.run(Instant::from_secs(10), true);
    assert!(site.world.outcome(flow).completion.is_some() && site.world.accounts().balance());
}

/// The time after which the agent of the new access point has a client's state of so many octets, with wires of `kbps`
/// to the access points and a registry that is `registry_delay` ms away. `None`: it does not get it.
fn time_to_serve(octets: usize, kbps: u64, registry_delay: u64) -> Option<Duration> {
    let plan = Plan { wire_kbps: kbps, registry_delay, ..Plan::new(2, &[20.0]) };
    let mut site = plan.build(|_| {});
    site.world.hand_over(site.set, HandOffConfig::new(site.server));
    for access_point in 0..2 {
        let agent = Box::new(Notebook { octets: if access_point == 0 { octets } else { 0 } });
        site.world.attach_to_clients(site.set, AccessPointId(access_point), agent).expect("it needs nothing");
    }
    site.world.advance_to(ms(10_000));
    site.world.steer(site.set, ClientId(0), &[AccessPointId(1)]);
    site.world.advance_to(ms(60_000));
    let roam = site.world.roams().iter().find(|roam| roam.to == site.access_points[1]);
    let roam = roam.expect("it has gone");
    (roam.connections == 1).then_some(())?;
    Some(roam.served?.since(roam.accepted))
}

/// An agent whose state is a number of octets.
struct Notebook {
    octets: usize,
}

impl Agent for Notebook {
    fn on_packet(&mut self, _: &mut Packet, _: Side, _: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }
}

impl Accounts for Notebook {}

impl Transfer for Notebook {
    fn export(&mut self, _: Scope, _: &mut Context<'_>) -> Vec<FlowState> {
        let octets = vec![0; std::mem::take(&mut self.octets)];
        let end = (std::net::Ipv4Addr::LOCALHOST.into(), 1);
        let state = FlowState::new("notebook".into(), FlowKey::tcp(end, end), octets);
        if state.octets.is_empty() { Vec::new() } else { vec![state] }
    }

    fn import(&mut self, state: &FlowState, _: &mut Context<'_>) -> Result<(), ImportError> {
        self.octets += state.octets.len();
        Ok(())
    }
}

#[test]
fn a_state_that_is_long_on_the_way_arrives() {
    // 250 kB take 2 s, which is eight times as long as an access point waits for an answer.
    let time = time_to_serve(250_000, 1_000, 1).expect("it arrives");
    assert!((Duration::from_secs(2)..Duration::from_secs(4)).contains(&time), "{time:?}");
}

#[test]
fn a_registry_far_away_is_heard() {
    // Its answers take longer than an access point waits for them.
    let time = time_to_serve(1_000, 100_000, 800).expect("it arrives");
    assert!((Duration::from_millis(1_600)..Duration::from_secs(4)).contains(&time), "{time:?}");
}

/// Sixteen clients between two access points, all nearer to the first, after three minutes with a controller.
fn steered(load: Load, steering: Steering) -> Site {
    let places: Vec<f64> = (0..16).map(|number| 8.0 + f64::from(number)).collect();
    let mut site = Plan::new(2, &places).build(|config| {
        config.steering = steering;
        // They do not go back by themselves.
        config.short_interval = Duration::from_secs(3_600);
    });
    let (overload, difference) = match load {
        Load::Clients => (5.0, 2.0),
        Load::AirTime => (10.0, 5.0),
    };
    let client_interval = Duration::from_secs(20);
    let min_signal = Dbm(-82);
    let controller =
        ControllerConfig { overload, difference, client_interval, min_signal, ..ControllerConfig::default() };
    site.world.control(site.set, SteeringConfig { load, controller });
    // Two of them talk all the time: the ninth and the tenth.
    for client in [8, 9] {
        let ends = (site.clients[client], site.server);
        let config = FlowConfig { start: ms(1_000), ..udp_flow(&site.world, ends, datagrams(800)) };
        site.world.add_flow(config);
    }
    site.world.advance_to(Instant::from_secs(180));
    assert!(site.world.accounts().balance());
    site
}

fn clients_at(site: &Site, access_point: usize) -> usize {
    let at = Some(site.access_points[access_point]);
    site.associations().into_iter().filter(|association| *association == at).count()
}

#[test]
fn a_controller_spreads_clients_over_access_points() {
    let site = steered(Load::Clients, Steering::Follow);
    assert_eq!([clients_at(&site, 0), clients_at(&site, 1)], [8, 8]);
    let counters = site.world.steering_counters(site.set).expect("it has a controller");
    assert!(counters.accepted >= 8, "{counters:?}");
    assert_eq!((counters.requests, counters.refused), (counters.accepted, 0));
    assert!(counters.reports <= counters.measurements, "{counters:?}");
}

#[test]
fn a_controller_spreads_air_time_where_that_is_the_load() {
    let site = steered(Load::AirTime, Steering::Follow);
    let talkers = [8, 9].map(|client| site.associations()[client]);
    assert_ne!(talkers[0], talkers[1], "{talkers:?}");
}

#[test]
fn clients_may_refuse_and_are_left_alone_then() {
    let site = steered(Load::Clients, Steering::Refuse);
    assert_eq!(clients_at(&site, 0), 16);
    let counters = site.world.steering_counters(site.set).expect("it has a controller");
    assert_eq!(counters.accepted, 0);
    // Three each ten seconds at most, and each client each minute at most.
    assert!((30..=48).contains(&counters.refused) && counters.requests == counters.refused, "{counters:?}");
}
