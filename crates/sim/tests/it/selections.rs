//! Links that impair a part of the traffic.

use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::{Agent, Context, LinkSenses, Side, Stateless, Verdict};
use lasthop_apps::traffic::{Beat, Constant};
use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp, wire};
use lasthop_sim::selection::{Match, MatchedProtocol, Selection, Traffic};
use lasthop_sim::world::{Change, ChangeError, LinkDirection};
use lasthop_sim::{
    Application, Capacity, Direction, Faults, Loss, NodeId, NodeKind, TransportOutcome, World,
};

use crate::pair::{Kind, pair};
use crate::radio::STOP_AND_WAIT;
use crate::support::{direction, flow, ms, node, percent, udp_flow, wireless};

const KINDS: [Kind; 3] = [Kind::Wired, Kind::Managed, Kind::Wireless];

fn ports(first: u16, last: u16) -> Traffic {
    Traffic::new(vec![Match { ports: Some(first..=last), ..Match::default() }])
}

fn only(only: Traffic) -> Change {
    Change::Selection(Selection { only, except: Traffic::none() })
}

/// A datagram of 1000 octets from one end to the port of the other.
fn datagram(world: &World, [from, to]: [NodeId; 2], destination_port: u16) -> Packet {
    let udp = Transport::Udp(Udp { source_port: 40_000, destination_port });
    let ip = Ip::new(world.node_address(from), world.node_address(to));
    Packet::new(ip, udp, Payload::Stream { stream: 9, offset: 0, len: 972 })
}

fn send(world: &mut World, ends: [NodeId; 2], port: u16) {
    let packet = datagram(world, ends, port);
    world.inject(ends[0], packet);
}

#[test]
fn what_is_not_selected_crosses_at_once_and_the_rest_as_without_a_selection() {
    for kind in KINDS {
        // 10 ms for a packet, and all of them damaged.
        let faults = Faults { corrupt: percent(100.0), ..Faults::NONE };
        let way = Direction { faults, ..direction(800) };
        let (mut world, [near, far], link) = pair(NodeKind::External, kind, &way);
        world.reconfigure_link(link, LinkDirection::Both, &only(ports(9999, 9999))).expect("it can");
        for ends in [[near, far], [far, near]] {
            for port in [9999, 53, 9999, 53] {
                send(&mut world, ends, port);
            }
        }
        world.advance_to(ms(1));
        for (end, sender) in [(far, near), (near, far)] {
            let arrived = world.collect(end);
            let sent = datagram(&world, [sender, end], 53);
            let times: Vec<u64> = arrived.iter().map(|(at, _)| at.as_nanos()).collect();
            assert_eq!(times, [8, 16], "{kind:?}: at 1000 Gbit/s");
            assert!(arrived.iter().all(|(_, packet)| *packet == sent), "{kind:?}");
        }
        world.advance_to(ms(1000));
        let delay = if matches!(kind, Kind::Wireless) { 1 } else { 50 };
        for end in [far, near] {
            let times: Vec<u64> = world.collect(end).iter().map(|(at, _)| at.as_millis()).collect();
            assert_eq!(times, [10 + delay, 20 + delay], "{kind:?}");
        }
        let accounts = world.accounts();
        assert!(accounts.balance());
        assert_eq!((accounts.unselected, accounts.corrupted), (4, 4), "{kind:?}");
    }
}

#[test]
fn a_flow_is_lost_and_another_one_beside_it_is_not() {
    for kind in KINDS {
        let way = Direction { loss: Loss::Independent(percent(100.0)), ..direction(8000) };
        let (mut world, [from, to], link) = pair(NodeKind::Host, kind, &way);
        let udp = Match { protocol: Some(MatchedProtocol::Udp), ..Match::default() };
        world.reconfigure_link(link, LinkDirection::Both, &only(Traffic::new(vec![udp]))).expect("it can");
        let constant =
            Constant { message: 100, beat: Beat::Interval(Duration::from_millis(1)), jitter: Duration::ZERO };
        let lost = udp_flow(&world, (from, to), Application::Constant(constant));
        let lost = world.add_flow(lost);
        let whole = world.add_flow(flow(&world, (from, to), Some(100_000)));
        world.run(Instant::from_secs(1), false);
        let TransportOutcome::Udp(udp) = world.outcome(lost).transport else { panic!("it has datagrams") };
        assert!(udp.sent > 900 && udp.received == 0, "{kind:?}: {udp:?}");
        let whole = world.outcome(whole);
        assert!(
            whole.octets == 100_000 && whole.completion.is_some_and(|took| took < Duration::from_millis(1)),
            "{kind:?}"
        );
        assert!(world.accounts().balance());
    }
}

#[test]
fn a_source_that_is_not_selected_does_not_wait_for_the_link() {
    for kind in KINDS {
        let way = Direction { capacity: Capacity::Stalled, ..direction(8000) };
        let (mut world, [from, to], link) = pair(NodeKind::Host, kind, &way);
        world.reconfigure_link(link, LinkDirection::Both, &only(Traffic::none())).expect("it can");
        let saturating = udp_flow(&world, (from, to), Application::transfer(Some(50_000)));
        let saturating = world.add_flow(saturating);
        world.run(ms(1), false);
        // In whole datagrams.
        assert!(world.outcome(saturating).octets >= 50_000, "{kind:?}");
    }
}

#[test]
fn a_selection_can_change_and_what_is_on_the_link_stays_there() {
    for kind in KINDS {
        let (mut world, [near, far], link) = pair(NodeKind::External, kind, &direction(800));
        send(&mut world, [near, far], 53);
        for (change, port) in [(only(ports(9999, 9999)), 53), (only(Traffic::all()), 53)] {
            world.reconfigure_link(link, LinkDirection::Both, &change).expect("it can");
            send(&mut world, [near, far], port);
        }
        world.advance_to(ms(1));
        assert_eq!(world.collect(far).len(), 1, "{kind:?}: the second");
        world.advance_to(ms(1000));
        assert_eq!((world.collect(far).len(), world.accounts().unselected), (2, 1), "{kind:?}");
    }
}

/// An agent that waits for the fates of frames.
struct Waiting;

impl Agent for Waiting {
    fn needs(&self) -> LinkSenses {
        LinkSenses::FRAME_FATE
    }

    fn on_packet(&mut self, _: &mut Packet, _: Side, _: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }
}

impl Stateless for Waiting {}

#[test]
fn a_link_with_acknowledgments_is_passed_around_unless_an_agent_waits_for_fates() {
    for is_watched in [false, true] {
        let mut world = World::new(1);
        let [near, far] = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
        let link = world.add_wireless_link(near, far, &wireless("hop", &direction(800), STOP_AND_WAIT));
        if is_watched {
            world.attach(far, &[link], Box::new(Waiting)).expect("a seat");
        }
        let told = world.reconfigure_link(link, LinkDirection::Both, &only(ports(9999, 9999)));
        assert_eq!(told, if is_watched { Err(ChangeError::Fates) } else { Ok(()) });
        send(&mut world, [near, far], 9999);
        send(&mut world, [near, far], 53);
        world.advance_to(ms(1));
        assert_eq!(world.collect(far).len(), usize::from(!is_watched));
        world.advance_to(ms(1000));
        assert_eq!(world.collect(far).len(), 1 + usize::from(is_watched));
        assert!(world.accounts().balance());
    }
}

/// The datagram in two fragments, of which the second has no ports.
fn fragments(packet: &Packet, identification: u16) -> [Packet; 2] {
    let octets = wire::emit(packet);
    let fragment = |flags: u16, payload: &[u8]| {
        let mut fragment = [&octets[..20], payload].concat();
        let len = fragment.len() as u16;
        fragment[2..4].copy_from_slice(&len.to_be_bytes());
        fragment[4..6].copy_from_slice(&identification.to_be_bytes());
        fragment[6..8].copy_from_slice(&flags.to_be_bytes());
        wire::parse(Bytes::from(fragment)).expect("a fragment")
    };
    [fragment(0x2000, &octets[20..516]), fragment(62, &octets[516..])]
}

#[test]
fn all_fragments_of_a_packet_go_the_way_of_the_first() {
    let lossy = Direction { loss: Loss::Independent(percent(100.0)), ..direction(800) };
    let (mut world, [near, far], link) = pair(NodeKind::External, Kind::Wired, &lossy);
    let except_53 = Selection { only: ports(1, 40_000), except: ports(53, 53) };
    world.reconfigure_link(link, LinkDirection::Both, &Change::Selection(except_53)).expect("it can");
    for (number, port, is_selected) in [(1, 53, false), (2, 9999, true), (3, 53, false)] {
        let parts = fragments(&datagram(&world, [near, far], port), number);
        for part in parts {
            world.inject_to(near, far, part);
        }
        world.advance_to(ms(u64::from(number) * 100));
        assert_eq!(world.collect(far).len(), if is_selected { 0 } else { 2 }, "{port}");
    }
    // One whose first has not come has no ports.
    let [_, last] = fragments(&datagram(&world, [near, far], 9999), 4);
    world.inject_to(near, far, last);
    world.advance_to(ms(1000));
    assert_eq!(world.collect(far).len(), 1);
}
