//! Data delivered above a hole, in SACK blocks.

use super::*;

/// Settings with SACK blocks.
fn selective() -> Settings {
    Settings { selective_acks: true, ..Settings::default() }
}

/// An access point after a handshake in which these ends permit SACK blocks.
fn at_access_point(settings: Settings, permit: [bool; 2]) -> Bench {
    let [server, phone] = permit;
    let mut bench = Bench::new(settings, Role::Edge);
    bench.core(&syn().but(|tcp| tcp.options.sack_permitted = server));
    bench.radio(&accepting(syn_ack().but(|tcp| tcp.options.sack_permitted = phone)));
    bench.core(&data(FIRST, 0));
    bench
}

/// Segments by number: each of them leaves, those in `delivered` arrive, in this order. Returns the
/// ACKs, with the segments in their blocks.
fn acks_of(bench: &mut Bench, segments: u32, delivered: &[u32]) -> Vec<(u32, Vec<(u32, u32)>)> {
    let number = |seq: Seq| (seq - Seq(FIRST)) / 100;
    let sent: Vec<Packet> = (0..segments).map(|n| bench.sent(&data(FIRST + n * 100, 100))).collect();
    let made = delivered.iter().flat_map(|n| bench.delivered(&sent[*n as usize]).core).collect::<Vec<_>>();
    let numbers = |tcp: &Tcp| {
        let blocks = tcp.options.sack.as_slice().iter();
        (number(tcp.ack), blocks.map(|(left, right)| (number(*left), number(*right))).collect())
    };
    made.iter().filter_map(|packet| packet.tcp().map(numbers)).collect()
}

#[test]
fn a_delivery_above_a_hole_is_reported_and_one_that_fills_it_acknowledges_all() {
    let mut bench = at_access_point(selective(), [true; 2]);
    let acks = acks_of(&mut bench, 4, &[0, 2, 3, 1]);
    assert_eq!(acks, [(1, vec![]), (1, vec![(2, 3)]), (1, vec![(2, 4)]), (4, vec![])]);
}

#[test]
fn the_block_of_the_latest_delivery_comes_first() {
    let mut bench = at_access_point(selective(), [true; 2]);
    let acks = acks_of(&mut bench, 12, &[2, 4, 6, 8, 10, 5]);
    let blocks: Vec<_> = acks.into_iter().map(|(_, blocks)| blocks).collect();
    assert_eq!(blocks[2], [(6, 7), (4, 5), (2, 3)]);
    assert_eq!(blocks[4], [(10, 11), (8, 9), (6, 7), (4, 5)], "as many as an option has room for");
    assert_eq!(blocks[5], [(4, 7), (10, 11), (8, 9), (2, 3)]);
}

#[test]
fn each_of_many_holes_is_reported_though_few_are_recorded() {
    let mut bench = at_access_point(selective(), [true; 2]);
    let delivered: Vec<u32> = (1..40).step_by(2).collect();
    let acks = acks_of(&mut bench, 40, &delivered);
    let reported: Vec<u32> = acks.iter().map(|(_, blocks)| blocks[0].0).collect();
    assert_eq!(reported, delivered);
}

#[test]
fn blocks_need_both_ends_and_the_setting() {
    let cases =
        [(selective(), [true, false]), (selective(), [false, true]), (Settings::default(), [true; 2])];
    for (settings, permit) in cases {
        let mut bench = at_access_point(settings, permit);
        assert_eq!(acks_of(&mut bench, 3, &[0, 2]), [(1, vec![])], "{permit:?}");
    }
}

#[test]
fn an_agent_with_imported_state_sends_blocks_too() {
    let mut bench = at_access_point(selective(), [true; 2]);
    acks_of(&mut bench, 4, &[0, 2]);
    let state = bench.export();
    assert_eq!(bench.import(Lle::new(selective(), Role::Edge), &state), Ok(()));
    let sent = bench.sent(&data(FIRST + 300, 100));
    let made = bench.delivered(&sent);
    let blocks = made.only_ack().options.sack;
    assert_eq!(blocks.as_slice(), [(Seq(FIRST + 200), Seq(FIRST + 400))]);
}

#[test]
fn data_without_a_promise_is_not_a_hole() {
    let kept_octets = data(FIRST, 100).len() + 20;
    let mut bench = at_access_point(Settings { kept_octets, ..selective() }, [true; 2]);
    let promised = bench.sent(&data(FIRST, 100));
    let plain = bench.sent(&data(FIRST + 100, 100));
    assert!(
        !Mark::from_segment(plain.tcp().expect("a segment")).has(Mark::PROMISE),
        "there is no room to keep it"
    );
    assert_eq!(bench.delivered(&promised).only_ack().ack, Seq(FIRST + 100));
    bench.radio(&accepting(ack(FIRST + 100)));
    let third = bench.sent(&data(FIRST + 200, 100));
    assert!(Mark::from_segment(third.tcp().expect("a segment")).has(Mark::PROMISE));
    assert_eq!(bench.delivered(&plain).core, []);
    // The receiver acknowledges the plain one itself.
    assert_eq!(bench.delivered(&third).core, [], "the MAC has delivered all three");
}
