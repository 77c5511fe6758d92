//! Connections that are left to their senders.

use super::*;

/// A flow that loses one segment in `loses`, each repaired at once, from a sender `distance`
/// milliseconds away over a hop of 4 ms. Returns the number of segments shown to the agent until it
/// left the flow alone.
fn left_alone_after<R: Recovery>(
    settings: Settings,
    distance: u64,
    loses: u32,
    stamped: bool,
) -> Option<u32> {
    let mut bench = Bench::<R>::with(settings);
    let flow = data(0, 1).flow_key();
    let (mut next, mut clock) = (1, 1);
    let stamp = |packet: Packet, value, echo| if stamped { packet.stamped(value, echo) } else { packet };
    for round in 1..20_000 {
        bench.wait(distance);
        let is_lost = round % loses == 0;
        for segment in 0..4 {
            bench.pass(&stamp(data(next + 100 * segment, 100), clock, clock), Side::Core);
        }
        bench.wait(4);
        clock += distance as u32 + 4;
        let step = |bench: &mut Bench<R>, packet: Packet| {
            let mut outbox = Outbox::default();
            let mut cx = Context::new(bench.now, &mut bench.rng, &mut outbox);
            let mut passing = stamp(packet, clock, clock);
            let (Verdict::Forward | Verdict::Drop(_) | Verdict::Absorb) =
                bench.snoop.on_packet(&mut passing, Side::Radio, &mut cx);
            outbox.left_alone.first().copied()
        };
        let mut left = None;
        if is_lost {
            left = left.or(step(&mut bench, ack(next).sack(&[(next + 100, next + 300)])));
            left = left.or(step(&mut bench, ack(next).sack(&[(next + 100, next + 400)])));
            bench.wait(4);
        }
        next += 400;
        left = left.or(step(&mut bench, ack(next)));
        if left.is_some() {
            assert_eq!(left, flow);
            assert!(bench.cached().is_empty());
            bench.core(&data(next, 100));
            assert!(bench.cached().is_empty(), "shown all the same, it passes");
            return Some(round * 4);
        }
    }
    None
}

#[test]
fn a_sender_closer_than_the_hop_with_few_losses_is_left_alone() {
    let shown = left_alone_after::<Today>(Settings::default(), 1, 50, true);
    assert!(shown.is_some_and(|segments| segments >= 32 * 200), "{shown:?}: not by chance");
}

#[test]
fn a_more_distant_sender_is_not_left_alone() {
    assert_eq!(left_alone_after::<Today>(Settings::default(), 9, 50, true), None);
}

#[test]
fn a_sender_with_many_losses_is_not_left_alone() {
    assert_eq!(left_alone_after::<Today>(Settings::default(), 1, 10, true), None);
}

#[test]
fn no_sender_is_left_alone_without_timestamps_or_when_disabled() {
    assert_eq!(left_alone_after::<Today>(Settings::default(), 1, 50, false), None);
    let settings = Settings { steps_aside: false, ..Settings::default() };
    assert_eq!(left_alone_after::<Today>(settings, 1, 50, true), None);
    assert_eq!(left_alone_after::<Published>(Settings::published(), 1, 50, true), None);
}
