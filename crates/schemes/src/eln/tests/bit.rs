//! The bit, and the sender's extension.

use lasthop_tcp::{Config, Connection};

use super::*;
use lasthop_config::preset::Presets as _;

#[test]
fn duplicate_acks_for_losses_on_the_hop_are_marked() {
    let mut bench = Bench::new(Settings::published());
    bench.wait(5).data(11);
    let duplicate = bench.ack(1000);
    assert_eq!(duplicate.tcp_reserved_bits(), ELN);
    // Data repeated since then is in flight; other missing data was lost upstream.
    bench.wait(60).data(10);
    assert_eq!(bench.ack(1000).tcp_reserved_bits(), 0);
    assert_eq!(bench.ack(1200).tcp_reserved_bits(), 0);
    assert_eq!(bench.ack(1200).tcp_reserved_bits(), 0);
    assert_eq!((bench.counted(&MARKED), bench.counted(&LEFT)), (1, 0));
}

#[test]
fn a_marked_duplicate_ack_triggers_a_retransmission_without_a_reduction() {
    for mark in [0, ELN] {
        let config = Config { mss: SEGMENT, window: 60_000, initial_window: 8, ..Config::default() };
        let (phone, server) = ((PHONE, 4000), (SERVER, 80));
        let sender = Connection::established(config.clone(), &config, phone, server, Seq(0), Seq(6));
        let mut sender = sender.with_sender_extension(Some(Box::new(ElnSender::default())));
        let now = Instant::from_secs(1);
        sender.write_stream(1, 0, u64::from(8 * SEGMENT));
        while sender.poll_transmit(now).is_some() {}
        let acknowledge = |sender: &mut Connection, number, bits| {
            let mut packet = ack(number, 0, 0).but(|tcp| {
                (tcp.window, tcp.options.timestamps) = (60_000, None);
            });
            packet.set_tcp_reserved_bits(bits);
            sender.on_segment(&packet, now);
            sender.poll_transmit(now).and_then(|packet| packet.tcp().map(|tcp| tcp.seq))
        };
        let again: Vec<Option<Seq>> = (0..3).map(|_| acknowledge(&mut sender, 1, mark)).collect();
        let first = again.iter().position(Option::is_some);
        assert_eq!(first, Some(if mark == ELN { 0 } else { 2 }), "at the first marked one, or the third");
        assert_eq!(again.into_iter().flatten().collect::<Vec<_>>(), [Seq(1)], "once");
        acknowledge(&mut sender, 1 + 8 * SEGMENT, 0);
        assert_eq!(sender.flight().cwnd >= 8 * SEGMENT, mark == ELN);
    }
}
