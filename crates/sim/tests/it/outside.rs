//! The world driven from outside, as an emulator does it.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::{ChannelConfig, NodeKind, Opening, World};

use crate::agents::Mangler;
use crate::radio::STOP_AND_WAIT;
use crate::support::{direction, flow, hash, ms, node, number, packet, tcp_transport, wired, wireless};

#[test]
fn what_is_put_in_comes_out_at_its_time() {
    let mut world = World::new(1);
    let outside = node(&mut world, "outside", NodeKind::External);
    let router = node(&mut world, "router", NodeKind::Router);
    let sink = node(&mut world, "sink", NodeKind::External);
    world.add_wired_link(outside, router, &wired("first", &direction(8000), 10));
    world.add_wired_link(router, sink, &wired("second", &direction(4000), 5));
    let behind = "192.0.2.7".parse().expect("an address");
    world.add_address(sink, behind);

    world.advance_to(ms(100));
    assert_eq!((world.now(), world.next_event_at()), (ms(100), None));
    world.inject(outside, packet(&world, outside, sink, 1));
    assert_eq!(world.next_event_at(), Some(ms(111)));
    world.advance_to(ms(117));
    assert!(world.collect(sink).is_empty());
    world.advance_to(ms(118));
    let arrivals: Vec<_> = world.collect(sink).iter().map(|(at, packet)| (*at, number(packet))).collect();
    assert_eq!(arrivals, [(ms(118), 1)]);
    assert!(world.collect(sink).is_empty(), "it is taken out once");

    let mut ip = *packet(&world, outside, sink, 2).ip();
    ip.destination = behind;
    let to_behind = lasthop_packet::Packet::tcp_segment(
        ip,
        lasthop_packet::Tcp::default(),
        lasthop_packet::Payload::EMPTY,
    );
    world.inject(outside, to_behind);
    world.advance_to(ms(1000));
    assert_eq!(world.collect(sink).len(), 1, "an address behind the node is the node's");
}

#[test]
fn a_packet_leaves_by_an_exit_for_a_destination_to_which_no_way_leads() {
    let mut world = World::new(1);
    let [host, door, other_door, other] = ["host", "door", "other door", "other"].map(|name| {
        node(&mut world, name, if name.contains("door") { NodeKind::External } else { NodeKind::Host })
    });
    let link = world.add_wired_link(host, door, &wired("first", &direction(8000), 1));
    world.add_wired_link(other_door, other, &wired("second", &direction(8000), 1));
    world.set_route(host, other, link).expect("it is a link of the host");
    world.inject(host, packet(&world, host, other, 1));
    world.advance_to(ms(100));
    assert!(world.collect(door).is_empty(), "there is no exit yet");
    world.set_exit(door, other);
    world.inject(host, packet(&world, host, other, 2));
    world.advance_to(ms(200));
    let numbers: Vec<_> = world.collect(door).iter().map(|(_, packet)| number(packet)).collect();
    assert_eq!(numbers, [2]);
    assert!(world.accounts().balance());
}

fn busy_world() -> World {
    let mut world = World::new(7);
    let source = node(&mut world, "source", NodeKind::Host);
    let base = node(&mut world, "base", NodeKind::Router);
    let sink = node(&mut world, "sink", NodeKind::Host);
    world.add_wired_link(source, base, &wired("wire", &direction(8000), 20));
    let mut config = wireless("air", &direction(1000), STOP_AND_WAIT);
    config.channel = ChannelConfig::bursty(Duration::from_millis(500), Duration::from_millis(60));
    let link = world.add_wireless_link(base, sink, &config);
    world.attach(base, &[link], Box::new(Mangler::new(1.0))).expect("there is room");
    for ends in [(source, sink), (sink, source)] {
        let mut config = flow(&world, ends, Some(200_000));
        config.transport =
            tcp_transport(Opening::Handshake, &lasthop_tcp::Config { mss: 1000, ..Default::default() });
        world.add_flow(config);
    }
    world
}

#[test]
fn small_steps_give_the_trace_of_one_long_run() {
    let whole = {
        let mut world = busy_world();
        let hash = hash(&mut world);
        world.advance_to(Instant::from_secs(20));
        (hash(), world.counters())
    };
    let mut steps = busy_world();
    let step_hash = hash(&mut steps);
    let mut at = 0;
    while at < 20_000_000_000 {
        at = (at + 730_001).min(20_000_000_000);
        steps.advance_to(Instant::from_nanos(at));
        assert_eq!(steps.now(), Instant::from_nanos(at));
    }
    assert_eq!((step_hash(), steps.counters()), whole);

    // As a pacer does it: from event to event.
    let mut paced = busy_world();
    let paced_hash = hash(&mut paced);
    while let Some(next) = paced.next_event_at().filter(|next| *next <= Instant::from_secs(20)) {
        paced.advance_to(next);
    }
    paced.advance_to(Instant::from_secs(20));
    assert_eq!((paced_hash(), paced.counters()), whole);
}

#[test]
fn a_flow_added_on_the_way_starts_now_at_the_earliest() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
    world.add_wired_link(ends[0], ends[1], &wired("wire", &direction(8000), 1));
    world.advance_to(ms(500));
    let config = flow(&world, (ends[0], ends[1]), Some(1000));
    let id = world.add_flow(config);
    world.advance_to(ms(500));
    assert_eq!(world.now(), ms(500), "time does not go back");
    world.advance_to(ms(600));
    assert_eq!(world.outcome(id).octets, 1000);
    assert!(world.outcome(id).completion.is_some_and(|took| took < Duration::from_millis(10)));
}

#[test]
fn a_flow_of_nothing_is_complete_and_a_flow_stopped_before_its_start_sends_nothing() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
    world.add_wired_link(ends[0], ends[1], &wired("wire", &direction(8000), 1));
    for opening in [Opening::Established, Opening::Handshake] {
        let tcp = || tcp_transport(opening, &lasthop_tcp::Config::default());
        let nothing = flow(&world, (ends[0], ends[1]), Some(0));
        world.add_flow(lasthop_sim::FlowConfig { transport: tcp(), ..nothing });
        let late = flow(&world, (ends[0], ends[1]), Some(5000));
        let (start, stop) = (ms(200), Some(ms(100)));
        world.add_flow(lasthop_sim::FlowConfig { transport: tcp(), start, stop, ..late });
    }
    world.run(Instant::from_secs(1000), true);
    assert!(world.now() <= ms(200), "all is done: {}", world.now());
    world.run(Instant::from_secs(1000), false);
    for id in world.flows() {
        assert_eq!((world.outcome(id).octets, world.outcome(id).intact), (0, true));
    }
}

#[test]
fn a_stopped_flow_delivers_what_was_sent_and_its_goodput_ends_with_the_last_octet() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
    world.add_wired_link(ends[0], ends[1], &wired("wire", &direction(8000), 100));
    let endless = flow(&world, (ends[0], ends[1]), None);
    let id = world.add_flow(lasthop_sim::FlowConfig { stop: Some(ms(850)), ..endless });
    world.run(Instant::from_secs(100), true);
    let done = world.now();
    assert!(done > ms(850) && done < ms(1100), "the last octets are still on their way at the stop: {done}");
    let outcome = world.outcome(id);
    assert_eq!(outcome.octets, outcome.tcp().map_or(0, |tcp| tcp.sender.segments_sent) * 1000);
    world.run(Instant::from_secs(100), false);
    assert_eq!(
        world.outcome(id).goodput_bps().to_bits(),
        outcome.goodput_bps().to_bits(),
        "waiting changes nothing"
    );
    assert_eq!(world.outcome(id).completion, None, "an endless flow does not complete");
    assert!(outcome.intact && world.accounts().balance());
}
