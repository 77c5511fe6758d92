//! Links that reset or refuse TCP connections.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_packet::{Instant, Ip, Packet, Payload, Probability, Seq, Tcp, TcpFlags};
use lasthop_sim::selection::{Match, Selection, Traffic};
use lasthop_sim::world::{Change, LinkDirection, PlannedChange, PlannedInterval};
use lasthop_sim::{
    Capacity, Cut, Direction, DropCause, Faults, FlowConfig, FlowId, LinkId, Loss, NodeId, NodeKind, Opening,
    World,
};
use lasthop_tcp::Config;

use crate::pair::{Kind, pair};
use crate::support::{direction, flow, ms, node, percent, tcp_transport, wired};

const KINDS: [Kind; 4] = [Kind::Wired, Kind::Managed, Kind::Wireless, Kind::Acknowledged];

fn at(time: u64, link: LinkId, cut: Cut) -> Vec<PlannedChange> {
    vec![PlannedChange { at: ms(time), link, way: LinkDirection::Both, change: Change::Cut(cut) }]
}

/// A transfer of `octets` between hosts, from `start` milliseconds on.
fn transfer(world: &mut World, ends: (NodeId, NodeId), octets: u64, start: u64) -> FlowId {
    let transport = tcp_transport(Opening::Handshake, &Config { mss: 1000, ..Config::default() });
    let flow = FlowConfig { start: ms(start), transport, ..flow(world, ends, Some(octets)) };
    world.add_flow(flow)
}

#[test]
fn a_reset_ends_the_flows_that_stand_and_not_those_that_come_later() {
    for kind in KINDS {
        let (mut world, [from, to], link) = pair(NodeKind::Host, kind, &direction(8000));
        let cut = [(from, to), (to, from)].map(|ends| transfer(&mut world, ends, 10_000_000, 0));
        let whole = [0, 1001].map(|start| transfer(&mut world, (from, to), 1000, start));
        world.plan_changes(at(1000, link, Cut::Standing)).expect("it can");
        world.run(Instant::from_secs(60), true);
        assert!(world.now() < Instant::from_secs(2), "{kind:?}: {:?}", world.now());
        for flow in cut {
            let outcome = world.outcome(flow);
            let gave_up = outcome.gave_up.expect("it was reset").as_millis();
            assert!((1000..1100).contains(&gave_up) && outcome.octets > 0 && outcome.intact, "{kind:?}");
        }
        assert!(whole.iter().all(|flow| world.outcome(*flow).completion.is_some()), "{kind:?}");
        let accounts = world.accounts();
        assert!(accounts.balance());
        assert_eq!((accounts.connections_reset, accounts.connections_refused), (2, 0), "{kind:?}");
    }
}

#[test]
fn every_end_learns_of_a_reset_whatever_is_under_way() {
    for kind in KINDS {
        for reset_at in (0..1000).step_by(37) {
            let (mut world, [from, to], link) = pair(NodeKind::Host, kind, &direction(2000));
            let flows = [(from, to), (to, from)].map(|ends| transfer(&mut world, ends, 1_000_000, 0));
            world.plan_changes(at(reset_at, link, Cut::Standing)).expect("it can");
            world.run(Instant::from_secs(60), true);
            let of = |flow| world.outcome(flow).gave_up.map(|at| at.as_millis() as u64);
            for gave_up in flows.map(of) {
                // At 0 ms, nothing of them is known yet, or has just been sent.
                assert!(
                    gave_up.is_none_or(|gave_up| (reset_at..reset_at + 300).contains(&gave_up))
                        && (gave_up.is_some() || reset_at == 0),
                    "{kind:?}, reset at {reset_at}: {gave_up:?}"
                );
            }
            assert!(world.accounts().balance());
        }
    }
}

#[test]
fn connections_that_open_are_refused_while_that_holds_and_those_that_stand_go_on() {
    for kind in KINDS {
        let (mut world, [from, to], link) = pair(NodeKind::Host, kind, &direction(8000));
        let standing = transfer(&mut world, (from, to), 1_000_000, 0);
        let [refused, later] = [500, 800].map(|start| transfer(&mut world, (to, from), 1000, start));
        let interval = PlannedInterval {
            link,
            way: LinkDirection::Forward,
            within: Change::Cut(Cut::Opening),
            outside: Change::Cut(Cut::None),
            first: ms(400),
            length: Duration::from_millis(300),
            period: None,
        };
        world.plan_intervals(vec![interval]).expect("it can");
        world.run(Instant::from_secs(60), true);
        let gave_up = world.outcome(refused).gave_up.expect("it was refused");
        assert!(gave_up < Duration::from_millis(1), "{kind:?}: at once");
        assert!([standing, later].iter().all(|flow| world.outcome(*flow).completion.is_some()), "{kind:?}");
        let accounts = world.accounts();
        assert_eq!((accounts.connections_reset, accounts.connections_refused), (0, 1), "{kind:?}");
    }
}

#[test]
fn each_connection_is_reset_a_time_after_its_first_segment() {
    for kind in KINDS {
        let (mut world, [from, to], link) = pair(NodeKind::Host, kind, &direction(8000));
        let flows = [0, 300].map(|start| transfer(&mut world, (from, to), 10_000_000, start));
        let closed = transfer(&mut world, (to, from), 1000, 0);
        world
            .reconfigure_link(link, LinkDirection::Both, &Change::Cut(Cut::AfterTime(Duration::from_secs(1))))
            .expect("it can");
        world.run(Instant::from_secs(60), false);
        for flow in flows {
            let gave_up = world.outcome(flow).gave_up.expect("it was reset").as_millis();
            assert!((1000..1100).contains(&gave_up), "{kind:?}: {gave_up}");
        }
        assert!(world.outcome(closed).completion.is_some());
        assert_eq!(world.accounts().connections_reset, 2, "{kind:?}: not the one that was closed");
    }
}

#[test]
fn a_change_of_the_time_counts_from_the_first_segment_too() {
    let (mut world, [from, to], link) = pair(NodeKind::Host, Kind::Wired, &direction(8000));
    let [one, other] = [0, 800].map(|start| transfer(&mut world, (from, to), 10_000_000, start));
    let changes = [
        (0, Cut::AfterTime(Duration::from_secs(2))),
        (1000, Cut::AfterTime(Duration::from_millis(500))),
        (1100, Cut::None),
        (1200, Cut::AfterTime(Duration::from_secs(1))),
    ];
    let changes = changes.into_iter().flat_map(|(time, cut)| at(time, link, cut)).collect();
    world.plan_changes(changes).expect("it can");
    world.run(Instant::from_secs(60), true);
    let times = [one, other].map(|flow| world.outcome(flow).gave_up.expect("it was reset").as_millis());
    assert_eq!(times, [1000, 1000]);
}

#[test]
fn each_connection_is_reset_once_an_end_has_got_so_much() {
    for kind in KINDS {
        let (mut world, [from, to], link) = pair(NodeKind::Host, kind, &direction(8000));
        let large = [(from, to), (to, from)].map(|ends| transfer(&mut world, ends, 1_000_000, 0));
        let small = transfer(&mut world, (from, to), 99_000, 0);
        world
            .reconfigure_link(link, LinkDirection::Both, &Change::Cut(Cut::AfterOctets(100_000)))
            .expect("it can");
        world.run(Instant::from_secs(60), true);
        for flow in large {
            let outcome = world.outcome(flow);
            // In whole segments.
            assert!((100_000..102_000).contains(&outcome.octets), "{kind:?}: {}", outcome.octets);
            assert!(outcome.gave_up.is_some() && outcome.intact, "{kind:?}");
        }
        assert!(world.outcome(small).completion.is_some(), "{kind:?}");
    }
}

#[test]
fn what_the_link_does_not_impair_is_neither_reset_nor_refused() {
    let (mut world, [from, to], link) = pair(NodeKind::Host, Kind::Wired, &direction(8000));
    // The ports of flows count up.
    let first = Match { ports: Some(10_000..=10_000), ..Match::default() };
    let selection = Selection { only: Traffic::new(vec![first]), except: Traffic::none() };
    world.reconfigure_link(link, LinkDirection::Both, &Change::Selection(selection)).expect("it can");
    let [cut, spared, opening] = [0, 0, 150].map(|start| transfer(&mut world, (from, to), 2_000_000, start));
    let changes = [(100, Cut::Standing), (120, Cut::Opening)];
    let changes = changes.into_iter().flat_map(|(time, cut)| at(time, link, cut)).collect();
    world.plan_changes(changes).expect("it can");
    world.run(Instant::from_secs(60), true);
    assert!(world.outcome(cut).gave_up.is_some());
    assert!([spared, opening].iter().all(|flow| world.outcome(*flow).completion.is_some()));
}

/// Two hosts that are no model's, at the ends of a link.
struct Wire {
    world: World,
    ends: [NodeId; 2],
    link: LinkId,
    addresses: [IpAddr; 2],
}

impl Wire {
    fn new(addresses: [&str; 2], way: &Direction) -> Self {
        let (mut world, ends, link) = pair(NodeKind::External, Kind::Wired, way);
        world.follow_connections(link);
        Self { world, ends, link, addresses: addresses.map(|address| address.parse().expect("an address")) }
    }

    fn segment(&self, from: usize, flags: TcpFlags, (seq, ack): (u32, u32), octets: u32) -> Packet {
        let ports = [40_000, 80];
        let tcp = Tcp {
            source_port: ports[from],
            destination_port: ports[1 - from],
            seq: Seq(seq),
            ack: Seq(ack),
            flags,
            ..Tcp::default()
        };
        let ip = Ip::new(self.addresses[from], self.addresses[1 - from]);
        Packet::tcp_segment(ip, tcp, Payload::Stream { stream: 1, offset: 0, len: octets })
    }

    fn send(&mut self, from: usize, flags: TcpFlags, numbers: (u32, u32), octets: u32) {
        let segment = self.segment(from, flags, numbers, octets);
        self.world.inject_to(self.ends[from], self.ends[1 - from], segment);
    }

    /// What comes to an end within a time: flags, sequence and acknowledgment number, octets.
    fn got(&mut self, end: usize) -> Vec<(TcpFlags, u32, u32, usize)> {
        let arrived = self.world.collect(self.ends[end]).into_iter();
        let of = |packet: Packet| {
            let tcp = packet.tcp().expect("a segment");
            (tcp.flags, tcp.seq.0, tcp.ack.0, packet.payload().len())
        };
        arrived.map(|(_, packet)| of(packet)).collect()
    }

    fn pass(&mut self, millis: u64) {
        let until = self.world.now() + Duration::from_millis(millis);
        self.world.advance_to(until);
    }

    fn set(&mut self, cut: Cut) {
        self.world.reconfigure_link(self.link, LinkDirection::Both, &Change::Cut(cut)).expect("it can");
    }

    /// Opens a connection, sends 1000 octets each way and 500 more, which are under way.
    fn open(&mut self) {
        for (from, flags, numbers, octets) in [
            (0, SYN, (99, 0), 0),
            (1, SYN_ACK, (499, 100), 0),
            (0, ACK, (100, 500), 1000),
            (1, ACK, (500, 1100), 1000),
        ] {
            self.send(from, flags, numbers, octets);
            self.pass(1000);
        }
        self.send(1, ACK, (1500, 1100), 500);
        self.pass(1);
        let _ = [0, 1].map(|end| self.got(end));
    }
}

const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;
const SYN_ACK: TcpFlags = TcpFlags::SYN.with(TcpFlags::ACK);
const RST: TcpFlags = TcpFlags::RST;
const FIN_ACK: TcpFlags = TcpFlags::FIN.with(TcpFlags::ACK);
const RST_ACK: TcpFlags = TcpFlags::RST.with(TcpFlags::ACK);
const V4: [&str; 2] = ["198.51.100.7", "203.0.113.9"];
const V6: [&str; 2] = ["2001:db8::7", "2001:db8:1::9"];

#[test]
fn resets_carry_what_each_end_expects_next_and_what_is_sent_later_is_answered() {
    for addresses in [V4, V6, [V4[1], V4[0]]] {
        for way in [direction(800), Direction { capacity: Capacity::Stalled, ..direction(800) }] {
            let mut wire = Wire::new(addresses, &direction(800));
            wire.open();
            wire.world
                .reconfigure_link(wire.link, LinkDirection::Both, &Change::Capacity(way.capacity))
                .expect("it can");
            wire.set(Cut::Standing);
            wire.pass(1);
            assert_eq!([0, 1].map(|end| wire.got(end)), [vec![(RST, 1500, 0, 0)], vec![(RST, 1100, 0, 0)]]);
            // The end has had more than the link knows: it says so, and gets a reset that fits.
            wire.send(0, ACK, (1100, 2000), 0);
            wire.send(1, ACK, (2000, 1100), 700);
            wire.send(1, RST, (2000, 0), 0);
            wire.pass(1);
            assert_eq!([0, 1].map(|end| wire.got(end)), [vec![(RST, 2000, 0, 0)], vec![(RST, 1100, 0, 0)]]);
            wire.pass(10_000);
            assert_eq!([0, 1].map(|end| wire.got(end)), [vec![], vec![]], "what was under way is lost");
            let accounts = wire.world.accounts();
            assert!(accounts.balance() && accounts.connections_reset == 1);
            let stalled = accounts.in_transit;
            assert_eq!(accounts.dropped[&DropCause::ConnectionCut] + stalled, 4);
        }
    }
}

#[test]
fn a_connection_that_opens_after_the_reset_passes_even_between_the_same_ports() {
    let mut wire = Wire::new(V4, &direction(800));
    wire.open();
    wire.set(Cut::Standing);
    wire.pass(1);
    wire.pass(1000);
    let _ = [0, 1].map(|end| wire.got(end));
    wire.send(0, SYN, (77, 0), 0);
    wire.pass(1000);
    assert_eq!(wire.got(1), [(SYN, 77, 0, 0)]);
    wire.send(1, SYN_ACK, (5, 78), 0);
    wire.pass(1000);
    assert_eq!(wire.got(0), [(SYN_ACK, 5, 78, 0)]);
    // The same again is another reset.
    wire.set(Cut::Standing);
    wire.pass(1);
    assert_eq!([0, 1].map(|end| wire.got(end)), [vec![(RST, 6, 0, 0)], vec![(RST, 78, 0, 0)]]);
}

#[test]
fn an_end_that_waits_for_the_answer_to_its_syn_is_reset_by_its_acknowledgment() {
    for refuses in [false, true] {
        let mut wire = Wire::new(V6, &direction(800));
        if refuses {
            wire.set(Cut::Opening);
        }
        wire.send(0, SYN, (99, 0), 0);
        if !refuses {
            wire.set(Cut::Standing);
        }
        wire.pass(1000);
        assert_eq!([0, 1].map(|end| wire.got(end)), [vec![(RST_ACK, 0, 100, 0)], vec![]]);
        let accounts = wire.world.accounts();
        let counts = (accounts.connections_reset, accounts.connections_refused);
        assert_eq!(counts, if refuses { (0, 1) } else { (1, 0) });
    }
}

#[test]
fn a_syn_that_is_sent_again_is_of_its_connection_and_not_refused() {
    let mut wire = Wire::new(V4, &direction(800));
    wire.send(0, SYN, (99, 0), 0);
    wire.set(Cut::Opening);
    wire.send(0, SYN, (99, 0), 0);
    wire.pass(1000);
    assert_eq!(wire.got(1), [(SYN, 99, 0, 0); 2]);
    wire.send(0, SYN, (200, 0), 0);
    wire.pass(1000);
    assert_eq!([0, 1].map(|end| wire.got(end)), [vec![(RST_ACK, 0, 201, 0)], vec![]]);
}

#[test]
fn a_connection_that_its_ends_have_ended_is_not_reset() {
    let fin = TcpFlags::FIN.with(ACK);
    for ends in [vec![(0, RST)], vec![(0, fin), (1, fin)]] {
        let mut wire = Wire::new(V4, &direction(800));
        wire.open();
        for (from, flags) in ends {
            wire.send(from, flags, (if from == 0 { 1100 } else { 2000 }, 1100), 0);
        }
        wire.pass(1000);
        let _ = [0, 1].map(|end| wire.got(end));
        wire.set(Cut::Standing);
        wire.set(Cut::AfterTime(Duration::from_millis(1)));
        wire.pass(1000);
        assert_eq!([0, 1].map(|end| wire.got(end)), [vec![], vec![]]);
        assert_eq!(wire.world.accounts().connections_reset, 0);
    }
}

#[test]
fn a_connection_of_which_the_beginning_is_unknown_is_reset_at_both_ends() {
    let mut wire = Wire::new(V4, &direction(800));
    wire.send(0, ACK, (5000, 9000), 100);
    wire.set(Cut::Standing);
    wire.pass(1000);
    assert_eq!([0, 1].map(|end| wire.got(end)), [vec![(RST, 9000, 0, 0)], vec![(RST, 5000, 0, 0)]]);
}

#[test]
fn a_reset_has_no_faults_of_the_link() {
    let faults = Faults { corrupt: percent(100.0), duplicate: percent(100.0) };
    let mut wire = Wire::new(V4, &direction(800));
    wire.open();
    wire.world.reconfigure_link(wire.link, LinkDirection::Both, &Change::Faults(faults)).expect("it can");
    wire.set(Cut::Standing);
    wire.pass(1000);
    assert_eq!([0, 1].map(|end| wire.got(end)), [vec![(RST, 1500, 0, 0)], vec![(RST, 1100, 0, 0)]]);
}

#[test]
fn resets_go_back_across_other_links_to_where_the_segments_came_from() {
    // The addresses are also those of the model's nodes, which are not meant.
    let addresses = ["10.0.0.3", "10.0.0.2"].map(|address| address.parse::<IpAddr>().expect("an address"));
    let mut world = World::new(1);
    let [near, far] = ["near", "far"].map(|name| node(&mut world, name, NodeKind::External));
    let [one, other] = ["one", "other"].map(|name| node(&mut world, name, NodeKind::Router));
    let links = [(near, one), (one, other), (other, far)]
        .map(|(from, to)| world.add_wired_link(from, to, &wired("hop", &direction(8000), 1)));
    let link = links[1];
    let mut wire = Wire { world, ends: [near, far], link, addresses };
    wire.world.follow_connections(link);
    wire.open();
    wire.set(Cut::Standing);
    wire.pass(100);
    // What was on its way to the link is answered there.
    assert_eq!([0, 1].map(|end| wire.got(end)), [vec![(RST, 1500, 0, 0)], vec![(RST, 1100, 0, 0); 2]]);
    wire.send(0, ACK, (1100, 1500), 50);
    wire.pass(100);
    assert_eq!([0, 1].map(|end| wire.got(end)), [vec![(RST, 1500, 0, 0)], vec![]]);
    assert!(wire.world.accounts().balance());
}

#[test]
fn what_is_under_way_when_both_ends_close_still_counts() {
    let mut wire = Wire::new(V4, &direction(80));
    wire.set(Cut::AfterOctets(5000));
    wire.open();
    wire.send(0, FIN_ACK, (1100, 2000), 0);
    wire.pass(1000);
    for segment in 0..50 {
        wire.send(1, ACK, (2000 + segment * 1000, 1101), 1000);
    }
    wire.send(1, FIN_ACK, (52_000, 1101), 0);
    wire.pass(60_000);
    let octets: usize = wire.got(0).iter().map(|(.., octets)| octets).sum();
    assert_eq!((octets, wire.world.accounts().connections_reset), (4500, 1));
}

#[test]
fn a_reset_of_an_end_counts_where_it_arrives_with_the_number_that_is_expected() {
    for (arrives, seq, is_over) in [(true, 1100, true), (true, 3_000_000_000, false), (false, 1100, false)] {
        let mut wire = Wire::new(V4, &direction(800));
        wire.open();
        wire.pass(1000);
        let loss = if arrives { Loss::NONE } else { Loss::Independent(Probability::ONE) };
        wire.world.reconfigure_link(wire.link, LinkDirection::Both, &Change::Loss(loss)).expect("it can");
        wire.send(0, RST, (seq, 0), 0);
        wire.pass(1000);
        let _ = [0, 1].map(|end| wire.got(end));
        wire.set(Cut::Standing);
        wire.pass(1000);
        assert_eq!([0, 1].map(|end| wire.got(end).len()), [usize::from(!is_over); 2], "{arrives} {seq}");
    }
}

// The first as a late copy. The second as a client of TCP Fast Open sends it again (RFC 7413, 4.1.3).
#[test]
fn a_syn_with_the_number_of_the_first_is_of_its_connection() {
    let mut wire = Wire::new(V4, &direction(800));
    wire.set(Cut::AfterTime(Duration::from_secs(6)));
    wire.open();
    wire.send(0, SYN, (99, 0), 0);
    wire.pass(3000);
    assert_eq!(wire.world.accounts().connections_reset, 1);

    let mut wire = Wire::new(V4, &direction(800));
    wire.send(0, SYN, (99, 0), 500);
    wire.set(Cut::Opening);
    wire.send(0, SYN, (99, 0), 0);
    wire.pass(1000);
    assert_eq!((wire.got(1).len(), wire.world.accounts().connections_refused), (2, 0));
}

#[test]
fn what_is_damaged_or_comes_twice_is_not_got_and_an_acknowledgment_of_what_was_not_sent_is_not_believed() {
    for faults in [
        Faults { corrupt: percent(100.0), duplicate: percent(0.0) },
        Faults { corrupt: percent(0.0), duplicate: percent(100.0) },
    ] {
        let mut wire = Wire::new(V4, &Direction { faults, ..direction(800) });
        wire.set(Cut::AfterOctets(1500));
        wire.send(0, SYN, (99, 0), 0);
        for _ in 0..3 {
            wire.send(0, ACK, (100, 500), 1000);
            wire.pass(1000);
        }
        assert_eq!(wire.world.accounts().connections_reset, 0);
    }
    let mut wire = Wire::new(V4, &direction(800));
    wire.open();
    wire.pass(1000);
    wire.send(0, ACK, (1100, 1_000_000_000), 0);
    wire.pass(1000);
    let _ = wire.got(0);
    wire.set(Cut::Standing);
    wire.pass(1000);
    assert_eq!(wire.got(0), [(RST, 2000, 0, 0)]);
}

#[test]
fn a_reset_is_over_at_once_and_what_held_before_holds_on() {
    let mut wire = Wire::new(V4, &direction(800));
    wire.set(Cut::AfterOctets(1500));
    wire.open();
    wire.set(Cut::Standing);
    wire.pass(1000);
    assert_eq!(wire.world.accounts().connections_reset, 1);
    wire.open();
    wire.pass(1000);
    assert_eq!(wire.world.accounts().connections_reset, 2, "its limit is still there");
}

#[test]
fn a_reset_waits_for_no_interval_and_comes_again_at_the_end_of_none() {
    for (when, outside) in [(1, Cut::None), (1, Cut::Standing), (10_500, Cut::None)] {
        let mut wire = Wire::new(V4, &direction(800));
        let interval = PlannedInterval {
            link: wire.link,
            way: LinkDirection::Forward,
            within: Change::Cut(Cut::Opening),
            outside: Change::Cut(outside),
            first: Instant::from_secs(10),
            length: Duration::from_secs(1),
            period: None,
        };
        wire.world.plan_intervals(vec![interval]).expect("it can");
        wire.world.plan_changes(at(when, wire.link, Cut::Standing)).expect("it can");
        wire.pass(1000);
        wire.open();
        wire.pass(5600);
        assert_eq!(wire.world.accounts().connections_reset, u64::from(when > 1), "{outside:?}");
        wire.pass(9000);
        assert_eq!(wire.world.accounts().connections_reset, u64::from(when > 1), "{outside:?}");
    }
}

#[test]
fn a_connection_that_is_selected_no_more_is_not_reset() {
    let mut wire = Wire::new(V4, &direction(800));
    wire.open();
    let nothing = Selection { only: Traffic::none(), except: Traffic::none() };
    wire.world.reconfigure_link(wire.link, LinkDirection::Both, &Change::Selection(nothing)).expect("it can");
    wire.set(Cut::Standing);
    wire.pass(1000);
    assert_eq!(wire.world.accounts().connections_reset, 0);
}
