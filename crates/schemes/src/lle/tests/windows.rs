//! The window in a generated ACK.

use super::*;
use lasthop_config::preset::Presets as _;

/// The end of the sender's window, in octets from the first.
fn allowed(tcp: &Tcp) -> u32 {
    tcp.ack - Seq(FIRST) + (u32::from(tcp.window) << SHIFT)
}

const ROOM: u32 = WINDOW as u32 * 4;

#[test]
fn the_window_has_the_receivers_right_edge() {
    let mut bench = Bench::at_access_point(Settings::default());
    for n in 0..5 {
        let step = bench.through(&data(FIRST + n * 100, 100));
        assert_eq!(allowed(step.only_ack()), ROOM);
    }
    // Its own ACK moves the edge; a sender with enough room learns of it with the next ACK.
    assert!(bench.radio(&evidence(FIRST + 400)).passed.is_none());
    assert_eq!(allowed(bench.through(&data(FIRST + 500, 100)).only_ack()), ROOM + 400);
}

#[test]
fn a_sender_short_of_window_gets_an_update_at_once() {
    let mut bench = Bench::at_access_point(Settings::default());
    for n in 0..15 {
        bench.through(&data(FIRST + n * 1000, 1000));
    }
    let step = bench.radio(&evidence(FIRST + 10_000));
    let passed = step.passed.expect("it says more than ours did");
    let tcp = passed.tcp().expect("TCP");
    assert_eq!((tcp.ack.0, allowed(tcp)), (FIRST + 15_000, ROOM + 10_000));
}

#[test]
fn data_above_the_window_is_not_promised() {
    let mut bench = Bench::at_access_point(Settings::default());
    assert!(bench.core(&data(FIRST, ROOM)).mark().has(Mark::PROMISE));
    let probe = bench.core(&data(FIRST + ROOM, 1));
    assert_eq!(probe.mark(), Mark::OFFER);
    assert!(bench.delivered(&probe.passed.expect("it goes on")).core.is_empty());
}

#[test]
fn as_published_the_window_is_the_receivers_last_one() {
    let settings = Settings { queue: 0, ..Settings::published() };
    let mut bench = Bench::at_access_point(settings);
    assert_eq!(bench.through(&data(FIRST, 100)).only_ack().window, WINDOW);
    bench.radio(&accepting(ack(FIRST + 100).window(0)));
    assert_eq!(bench.core(&data(FIRST + 100, 1)).mark(), Mark::OFFER);
    let update = accepting(ack(FIRST + 100).window(300));
    assert!(bench.radio(&update).passed.is_some());
    assert_eq!(bench.through(&data(FIRST + 100, 100)).only_ack().window, 300);
}

#[test]
fn exhausted_windows_and_updates_pass_with_the_agents_number() {
    for settings in [Settings::default(), Settings::published()] {
        let mut bench = Bench::at_access_point(settings);
        (0..3).for_each(|n| drop(bench.through(&data(FIRST + n * 100, 100))));
        let numbers = [0, WINDOW].map(|window| {
            let step = bench.radio(&accepting(ack(FIRST + 100).window(window)));
            step.passed.and_then(|packet| Some(packet.tcp()?.ack.0))
        });
        assert_eq!(numbers, [Some(FIRST + 300); 2], "an older number would be ignored");
    }
}

#[test]
fn the_window_is_the_free_room_of_the_queue() {
    let settings = Settings { queue: 3000, ..Settings::published() };
    let mut bench = Bench::at_access_point(settings);
    let sent: Vec<Packet> = (0..3).map(|n| bench.sent(&data(FIRST + n * 1000, 1000))).collect();
    let windows: Vec<u32> =
        sent.iter().map(|packet| u32::from(bench.delivered(packet).only_ack().window) << SHIFT).collect();
    assert_eq!(windows, [1000, 2000, 3000]);
}

#[test]
fn the_window_is_at_least_a_segment_for_a_full_queue() {
    let settings = Settings { queue: 1000, ..Settings::default() };
    let mut bench = Bench::at_access_point(settings);
    let sent: Vec<Packet> = (0..5).map(|n| bench.sent(&data(FIRST + n * 1000, 1000))).collect();
    let window = u32::from(bench.delivered(&sent[0]).only_ack().window) << SHIFT;
    assert_eq!(window, 4000, "what is in the queue already, and nothing more");
}

#[test]
fn connections_share_the_queue() {
    let settings = Settings { queue: 10_000, ..Settings::default() };
    let mut bench = Bench::at_access_point(settings);
    let other =
        |packet: Packet| {
            packet.but(|tcp| {
                if tcp.source_port == 80 { tcp.destination_port = 4001 } else { tcp.source_port = 4001 }
            })
        };
    bench.core(&other(syn()));
    bench.radio(&other(accepting(syn_ack())));
    bench.sent(&other(data(FIRST, 4000)));
    let first = bench.sent(&data(FIRST, 1000));
    bench.sent(&data(FIRST + 1000, 1000));
    // 5000 octets are queued, 1000 of them of this connection; its share is half of the free room.
    let window = u32::from(bench.delivered(&first).only_ack().window) << SHIFT;
    assert_eq!(window, 1000 + 2500);
}
