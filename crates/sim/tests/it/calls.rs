//! Calls over RTP: delays, losses and what they are worth, against arithmetic.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allocation_counter::measure;
use lasthop_apps::mos;
use lasthop_apps::traffic::{Codec, Media, Spurts, Voice};
use lasthop_packet::rtp::{Compound, Control, RtpPacket};
use lasthop_packet::{Instant, Transport};
use lasthop_sim::{
    Activity, CallOutcome, Direction, Interest, LinkLayer, NodeKind, Observer, Playout, QueueLimit,
    SessionConfig, SessionId, SessionResult, StreamOutcome, TraceEvent, World,
};

use crate::support::{direction, hash, node, percent, wired, wireless};

const G711: Voice =
    Voice { codec: Codec::G711 { concealment: true }, packet_time: Duration::from_millis(20), spurts: None };

/// Two hosts, joined by a wire of this direction and 10 ms, and a call between them of `seconds`.
fn call(direction: &Direction, voice: Voice, seconds: u64) -> (World, SessionId) {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
    world.add_wired_link(ends[0], ends[1], &wired("wire", direction, 10));
    let media = Some(Media::Voice(voice, Playout { buffer: Duration::from_millis(60) }));
    let id = world.add_session(SessionConfig {
        name: "call".to_owned(),
        index: 0,
        client: ends[0],
        server: ends[1],
        start: Instant::from_secs(1),
        stop: Some(Instant::from_secs(1 + seconds)),
        activity: Activity::Call([media, media]),
    });
    (world, id)
}

fn outcome(world: &World, id: SessionId) -> CallOutcome {
    let outcome = world.session_outcome(id);
    assert!(outcome.intact && world.accounts().balance());
    let SessionResult::Call(call) = outcome.result else { panic!("it is a call") };
    call
}

fn streams(world: &World, id: SessionId) -> [StreamOutcome; 2] {
    let streams: Vec<StreamOutcome> = outcome(world, id).streams.into_iter().map(|(_, of)| of).collect();
    streams.try_into().expect("one each way")
}

fn close(measured: f64, expected: f64) -> bool {
    (measured - expected).abs() < 1e-9
}

#[test]
fn over_an_idle_link_the_delay_is_that_of_the_path_and_the_call_is_as_good_as_can_be() {
    for (codec, octets, score) in [(G711.codec, 160, 4.37), (Codec::G729, 20, 4.01)] {
        let (mut world, id) = call(&direction(1000), Voice { codec, ..G711 }, 60);
        world.run(Instant::from_secs(1000), true);
        assert!(world.now() < Instant::from_millis(61_100), "the run ends with the call");
        for stream in streams(&world, id) {
            assert_eq!((stream.packets.sent, stream.packets.lost, stream.late), (3000, 0, 0));
            assert_eq!(stream.octets, 3000 * octets);
            // Headers of 40 octets, 1 Mbit/s, 10 ms.
            let expected = (octets + 40) as f64 * 8e-6 + 0.010;
            let delay = stream.packets.delay.expect("arrivals");
            assert!(close(delay.min_s, expected), "{delay:?}");
            // Now and then a report is before a packet.
            assert!(delay.mean_s < expected + 1e-5 && delay.variance_s2 < 1e-9, "{delay:?}");
            let quality = stream.quality.expect("arrivals");
            assert!((quality.mos - score).abs() < 0.02, "{quality:?}");
        }
    }
}

#[test]
fn lost_packets_lower_the_opinion_as_the_formula_says() {
    let lossy = Direction { loss: percent(3.0).into(), ..direction(1000) };
    let (mut world, id) = call(&lossy, G711, 200);
    world.run(Instant::from_secs(1000), true);
    for stream in streams(&world, id) {
        let packets = stream.packets;
        assert!((packets.lost as f64 - 300.0).abs() < 4.0 * 17.0, "{packets:?}");
        let lost = packets.lost as f64 / packets.sent as f64 * 100.0;
        let quality = stream.quality.expect("arrivals");
        let mouth_to_ear_s = quality.mouth_to_ear_s.expect("arrivals");
        assert!(close(mouth_to_ear_s, 0.020 + 0.060 + 0.0116), "{quality:?}");
        let expected = mos::rating(mos::Robustness::G711_CONCEALED, mouth_to_ear_s, lost);
        assert!(close(quality.rating, expected) && close(quality.mos, mos::opinion(expected)));
        assert!((3.9..4.2).contains(&quality.mos), "{quality:?}");
    }
}

#[test]
fn a_call_of_which_nothing_arrives_is_as_bad_as_one_of_which_nearly_nothing_does() {
    let dead = Direction { loss: percent(100.0).into(), ..direction(1000) };
    let (mut world, id) = call(&dead, G711, 60);
    world.run(Instant::from_secs(1000), true);
    for stream in streams(&world, id) {
        let quality = stream.quality.expect("it was made");
        assert!(quality.mos < 1.3 && quality.mouth_to_ear_s.is_none(), "{quality:?}");
    }
}

#[test]
fn what_a_link_without_retransmissions_loses_is_lost_and_hardly_any_packet_is_late() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
    let way = Direction { loss: percent(20.0).into(), ..direction(1000) };
    world.add_wireless_link(ends[0], ends[1], &wireless("air", &way, LinkLayer::UNRELIABLE));
    let small = Playout { buffer: Duration::ZERO };
    let id = world.add_session(SessionConfig {
        name: "call".to_owned(),
        index: 0,
        client: ends[0],
        server: ends[1],
        start: Instant::ZERO,
        stop: Some(Instant::from_secs(100)),
        // The other direction shares nothing with it.
        activity: Activity::Call([Some(Media::Voice(G711, small)), None]),
    });
    world.run(Instant::from_secs(1000), true);
    let CallOutcome { streams, .. } = outcome(&world, id);
    let (from, stream) = &streams[0];
    assert_eq!((streams.len(), *from), (1, 0));
    // Only a packet behind a report waits at all.
    assert!(stream.late <= 25, "{stream:?}");
    assert!((stream.packets.lost as f64 - 1000.0).abs() < 4.0 * 28.3, "{stream:?}");
}

#[test]
fn a_queue_that_delays_beyond_the_buffer_makes_packets_late() {
    // 64 kbit/s of speech and 16 kbit/s of headers over 80 kbit/s: what reports push back stays behind.
    let (mut world, id) = call(&direction(80), Voice { spurts: None, ..G711 }, 300);
    world.run(Instant::from_secs(1000), true);
    let [stream, _] = streams(&world, id);
    let delay = stream.packets.delay.expect("arrivals");
    assert!(delay.max_s > delay.min_s && stream.packets.lost == 0, "{delay:?}");
    // It grows evenly, and what takes 60 ms more than the first packet is late.
    let late = 15_000.0 * (1.0 - 0.060 / (delay.max_s - delay.min_s));
    assert!(late > 10_000.0 && (stream.late as f64 / late - 1.0).abs() < 0.05, "{stream:?}");
}

#[test]
fn in_pauses_there_are_no_packets_and_each_talkspurt_begins_with_a_marker() {
    struct Markers(Arc<Mutex<(u64, u64)>>);
    impl Observer for Markers {
        fn interest(&self) -> Interest {
            Interest::INTERFACES
        }
        fn on_event(&mut self, _: Instant, event: &TraceEvent<'_>) {
            let TraceEvent::InterfaceOut { packet, .. } = event else { return };
            let octets = packet.payload().octets();
            let Transport::Udp(udp) = packet.transport() else { panic!("a call is datagrams") };
            let mut counts = self.0.lock().expect("no panic while it was locked");
            if udp.destination_port % 2 == 0 {
                let rtp = RtpPacket::parse(&octets).expect("RTP");
                assert_eq!((rtp.header.payload_type, rtp.payload.len()), (18, 20));
                counts.0 += u64::from(rtp.header.marker);
            } else {
                let report = Compound::parse(&octets).expect("RTCP").next();
                counts.1 += u64::from(matches!(report, Some(Control::Sender { .. })));
            }
        }
    }
    let voice = Voice { codec: Codec::G729, spurts: Some(Spurts::P59), ..G711 };
    let (mut world, id) = call(&direction(1000), voice, 2000);
    let counts = Arc::default();
    world.observe(Box::new(Markers(Arc::clone(&counts))));
    world.run(Instant::from_secs(3000), true);
    let share: f64 = streams(&world, id).iter().map(|stream| stream.packets.sent as f64 / 200_000.0).sum();
    assert!((share / (1.014 / 2.601) - 1.0).abs() < 0.06, "{share}");
    let (markers, sender_reports) = *counts.lock().expect("no panic while it was locked");
    // Two directions, a spurt each 2.6 s.
    assert!((markers as f64 / (4000.0 / 2.601) - 1.0).abs() < 0.06, "{markers}");
    // Each 5 s in the mean (RFC 3550, section 6.2); who has been silent in between sends a receiver report.
    let CallOutcome { reports_sent, reports_received, .. } = outcome(&world, id);
    assert!((reports_sent as f64 / (4000.0 / 5.0) - 1.0).abs() < 0.05, "{reports_sent}");
    assert_eq!(reports_sent, reports_received);
    assert!(sender_reports < reports_sent && sender_reports > reports_sent / 2, "{sender_reports}");
}

#[test]
fn one_seed_gives_one_trace_of_calls_and_another_seed_another() {
    let run = |seed: u64| {
        let mut world = World::new(seed);
        let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::Host));
        let way = Direction { queue: QueueLimit::Packets(10).into(), ..direction(500) };
        world.add_wired_link(ends[0], ends[1], &wired("wire", &way, 1));
        for (index, name) in ["one", "two"].into_iter().enumerate() {
            let media =
                Media::Voice(Voice { spurts: Some(Spurts::P59), ..G711 }, Playout { buffer: Duration::ZERO });
            world.add_session(SessionConfig {
                name: name.to_owned(),
                index,
                client: ends[0],
                server: ends[1],
                start: Instant::ZERO,
                stop: None,
                activity: Activity::Call([Some(media), Some(media)]),
            });
        }
        let hash = hash(&mut world);
        world.advance_to(Instant::from_secs(30));
        hash()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn packets_of_a_call_share_their_allocations_and_memory_does_not_grow() {
    let (mut world, id) = call(&direction(1000), G711, 10_000);
    world.advance_to(Instant::from_secs(100));
    let growth = measure(|| world.advance_to(Instant::from_secs(2100)));
    let [stream, _] = streams(&world, id);
    assert!(stream.packets.sent > 100_000);
    // 200,000 packets.
    assert!(growth.count_total < 7_000, "{growth:?}");
    assert!(growth.bytes_current <= 65_536, "{growth:?}");
}
