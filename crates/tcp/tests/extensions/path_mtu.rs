//! A connection that moves while it looks for the size of segments that the path takes (RFC 4821).

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_packet::{Instant, Seq, quote};
use lasthop_tcp::{Config, Congestion, Connection, RackConfig, Recovery};

fn probing() -> Config {
    let parts =
        RackConfig { tail_loss_probe: false, proportional_reduction: false, f_rto: false, undo: false };
    Config {
        mss: 1400,
        mtu_probing: true,
        initial_window: 10,
        recovery: Recovery::Rack(parts),
        sack: true,
        congestion: Congestion::RenoAbc,
        ..Config::default()
    }
}

const A: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 1);
const ROUTER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1));
const B: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 2);

/// Exchanges all packets of both ends, and reads their data. Returns the largest payload of the first one.
fn exchange(ends: [&mut Connection; 2], now: Instant) -> usize {
    let [a, b] = ends;
    let mut largest = 0;
    loop {
        let mut sent = 0;
        while let Some(packet) = a.poll_transmit(now) {
            largest = largest.max(packet.payload().len());
            b.on_segment(&packet, now);
            sent += 1;
        }
        while b.read().is_some() {}
        while let Some(packet) = b.poll_transmit(now) {
            a.on_segment(&packet, now);
            sent += 1;
        }
        if sent == 0 {
            return largest;
        }
    }
}

#[test]
fn a_restored_connection_sends_its_probe_at_the_same_time() {
    // After an outage at once, and after a router's message ten minutes later.
    for (has_message, waits, expected) in [(false, 20, 1400), (true, 20, 600), (true, 601, 1400)] {
        let mut now = Instant::from_secs(1);
        let mut a = Connection::established(probing(), &probing(), A, B, Seq(100), Seq(900));
        let mut b = Connection::established(probing(), &probing(), B, A, Seq(900), Seq(100));
        a.write_stream(1, 0, 1400);
        let first = a.poll_transmit(now).expect("there is data");
        if has_message {
            let message = quote::too_big(&first, ROUTER, 640).expect("it is TCP");
            a.on_icmp(&message, now);
        } else {
            for _ in 0..5 {
                while a.poll_transmit(now).is_some() {}
                now = a.deadline().expect("it is outstanding").at;
                a.on_deadline(now);
            }
        }
        assert!(exchange([&mut a, &mut b], now) <= 600);
        let snapshot = a.snapshot(now).expect("it is open");
        let mut a = Connection::restore(probing(), snapshot, now).expect("it is sound");
        now += Duration::from_secs(waits);
        a.write_stream(1, 1400, 100_000);
        assert_eq!(exchange([&mut a, &mut b], now), expected, "{has_message}, {waits} s");
    }
}
