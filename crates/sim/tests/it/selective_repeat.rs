//! The link layer that sends on while it waits for acknowledgments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lasthop_agent::{Agent, Context, Fate, LinkEvent, LinkSenses, Side, Stateless, Verdict};
use lasthop_packet::{Instant, Packet, Rng};
use lasthop_sim::wireless::parse_state_trace;
use lasthop_sim::{
    Arq, ChannelConfig, Feedback, Interest, LinkLayer, NodeId, NodeKind, Observer, StateSource, TraceEvent,
    WirelessConfig, World,
};

use crate::support::{arrived, direction, ms, node, number, packet, percent, wireless};

/// With eight attempts more. A time-out of 3 ms is enough for packets of 1 ms and a propagation of 1 ms.
fn layer(window: u32, timeout_ms: u64) -> LinkLayer {
    let arq = Arq::SelectiveRepeat { window };
    let feedback = Feedback::Acknowledged { timeout: Duration::from_millis(timeout_ms), ack_octets: 10, arq };
    LinkLayer { feedback, retransmission_attempts: 8 }
}

/// Packets of 1 ms from one host to another, through a channel with these states.
fn world(link_layer: LinkLayer, states: &str, packets: u32) -> (World, [NodeId; 2]) {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let trace = parse_state_trace(states).expect("a good trace");
    let channel = ChannelConfig {
        source: StateSource::Trace(Arc::new(trace)),
        ..ChannelConfig::bursty(Duration::from_secs(1), Duration::from_secs(1))
    };
    world.add_wireless_link(
        ends[0],
        ends[1],
        &WirelessConfig { channel, ..wireless("air", &direction(8000), link_layer) },
    );
    for number in 0..packets {
        world.inject(ends[0], packet(&world, ends[0], ends[1], number));
    }
    (world, ends)
}

#[test]
fn a_lost_frame_is_overtaken_and_goes_again_ahead_of_what_waits() {
    // The first is lost; 3 ms after its end it is missed, when the fourth is in the air.
    let (mut world, [_, to]) = world(layer(64, 3), "0 0\n0.5 1\n", 8);
    world.advance_to(ms(100));
    assert_eq!(arrived(&mut world, to), [1, 2, 3, 0, 4, 5, 6, 7]);
}

#[test]
fn the_hop_is_never_idle_while_frames_wait_for_their_acknowledgments() {
    // Nine of 1.01 ms each and a propagation delay of 1 ms. Stop-and-wait takes 3.01 ms for each.
    let (mut world, [_, to]) = world(layer(64, 3), "", 9);
    world.advance_to(Instant::from_nanos(10_089_999));
    assert_eq!(arrived(&mut world, to).len(), 9);
}

#[test]
fn no_frame_is_sent_that_is_further_ahead_of_the_oldest_than_the_window() {
    struct Highest(Arc<Mutex<u32>>);
    impl Observer for Highest {
        fn interest(&self) -> Interest {
            Interest::FRAMES
        }
        fn on_event(&mut self, _: Instant, event: &TraceEvent<'_>) {
            if let TraceEvent::Frame { number, .. } = event {
                let mut highest = self.0.lock().expect("no panic while it was locked");
                *highest = (*highest).max(*number);
            }
        }
    }
    for window in [1, 4, 64] {
        // The first frame is lost, and not missed before 401 ms.
        let (mut world, [_, to]) = world(layer(window, 400), "0 0\n0.5 1\n", 200);
        let highest = Arc::new(Mutex::new(0));
        world.observe(Box::new(Highest(Arc::clone(&highest))));
        world.advance_to(ms(200));
        assert_eq!(*highest.lock().expect("no panic while it was locked"), window - 1);
        world.advance_to(ms(2000));
        let mut all = arrived(&mut world, to);
        assert_eq!(all.is_sorted(), window == 1, "with one frame at a time the order is kept");
        all.sort_unstable();
        assert_eq!(all, (0..200).collect::<Vec<_>>());
    }
}

#[test]
fn what_is_given_up_lets_the_window_move_on() {
    let (mut world, [_, to]) =
        world(LinkLayer { retransmission_attempts: 0, ..layer(2, 3) }, "0 0\n0.5 1\n", 4);
    world.advance_to(ms(100));
    assert_eq!(arrived(&mut world, to), [1, 2, 3]);
    assert_eq!(world.counters().frames_given_up, 1);
}

type Fates = Arc<Mutex<BTreeMap<u32, Vec<Fate>>>>;

/// Writes down what becomes of each packet's frame, and answers one in three with another packet.
struct Recorder {
    fates: Fates,
    more: Vec<Packet>,
}

impl Agent for Recorder {
    fn on_packet(&mut self, _: &mut Packet, _: Side, _: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        let LinkEvent::Frame { packet, fate, .. } = *event else { return };
        self.fates
            .lock()
            .expect("no panic while it was locked")
            .entry(number(packet))
            .or_default()
            .push(fate);
        if number(packet).is_multiple_of(3)
            && let Some(packet) = self.more.pop()
        {
            cx.send(Side::Radio, packet);
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::FRAME_FATE
    }
}

impl Stateless for Recorder {}

#[test]
fn every_packet_is_delivered_once_or_given_up_and_its_sender_hears_of_that_once() {
    for seed in 0..300 {
        let mut rng = Rng::named(seed, "selective repeat");
        let mut world = World::new(seed);
        let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
        let layer =
            LinkLayer { retransmission_attempts: rng.below(6) as u32, ..layer(1 + rng.below(64) as u32, 3) };
        let mut config = wireless("air", &direction(2000 + rng.below(20_000)), layer);
        config.channel.good.loss = percent([2.0, 20.0, 60.0][rng.below(3) as usize]);
        config.clock = Duration::from_millis(rng.below(2));
        // Half of the time the medium is shared with the other direction.
        config.medium = (rng.below(2) == 0).then(|| world.add_medium());
        let link = world.add_wireless_link(ends[0], ends[1], &config);
        let fates = Fates::default();
        let more = (300..350).map(|number| packet(&world, ends[0], ends[1], number)).collect();
        let agent = Recorder { fates: Arc::clone(&fates), more };
        world.attach(ends[0], &[link], Box::new(agent)).expect("the link layer shows fates");

        let mut seen = Vec::new();
        let mut sent = 0;
        for step in 0..4000 {
            for _ in 0..rng.below(9) {
                if sent < 300 {
                    world.inject(ends[0], packet(&world, ends[0], ends[1], sent));
                    world.inject(ends[1], packet(&world, ends[1], ends[0], sent));
                    sent += 1;
                }
            }
            world.advance_to(ms(step * 5));
            assert!(world.accounts().balance(), "{seed}: {:?}", world.accounts());
            seen.extend(arrived(&mut world, ends[1]));
        }
        let delivered: BTreeSet<u32> = seen.iter().copied().collect();
        assert_eq!(delivered.len(), seen.len(), "{seed}: nothing comes twice");
        let fates = fates.lock().expect("no panic while it was locked");
        assert_eq!(fates.keys().copied().collect::<Vec<_>>(), (0..350).collect::<Vec<_>>(), "{seed}");
        for (number, told) in fates.iter() {
            let (last, before) = told.split_last().expect("something was told");
            assert!(before.is_empty() || before == [Fate::FirstTransmissionFailed], "{seed}: {told:?}");
            assert_ne!(*last, Fate::FirstTransmissionFailed);
            assert!(delivered.contains(number) || *last == Fate::GivenUp, "{seed}: {number} {told:?}");
        }
    }
}
