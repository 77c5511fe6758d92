//! A snapshot whose octets were changed on the way is refused, or makes a connection that can be
//! driven.

use std::net::IpAddr;

use lasthop_packet::{Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags};
use lasthop_tcp::{Config, Connection, Snapshot};
use proptest::prelude::*;

const LOCAL: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 1);
const REMOTE: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)), 2);

/// A segment of the peer's.
fn segment(from: u32, len: u32, ack: u32) -> Packet {
    let tcp = Tcp {
        source_port: REMOTE.1,
        destination_port: LOCAL.1,
        seq: Seq(from),
        ack: Seq(ack),
        flags: TcpFlags::ACK,
        window: 60_000,
        ..Tcp::default()
    };
    let payload = Payload::Stream { stream: 2, offset: u64::from(from), len };
    Packet::tcp_segment(Ip::new(REMOTE.0, LOCAL.0), tcp, payload)
}

/// In the middle of a transfer both ways, with a gap.
fn octets(config: &Config) -> Vec<u8> {
    let now = Instant::from_secs(1);
    let mut connection = Connection::established(config.clone(), config, LOCAL, REMOTE, Seq(100), Seq(900));
    connection.write_stream(1, 0, 50_000);
    while connection.poll_transmit(now).is_some() {}
    for packet in [segment(901, 500, 1101), segment(2401, 500, 1101)] {
        connection.on_segment(&packet, now);
        while connection.poll_transmit(now).is_some() {}
    }
    postcard::to_allocvec(&connection.snapshot(now)).expect("it is written")
}

fn drive(connection: &mut Connection) {
    let mut now = Instant::from_secs(2);
    for round in 0..20 {
        let mut sent = 0;
        while connection.poll_transmit(now).is_some() {
            sent += 1;
            assert!(sent < 100_000, "it does not stop sending");
        }
        while connection.read().is_some() {}
        connection.on_segment(&segment(1401 + 500 * round, 500, 1101 + 700 * round), now);
        if let Some(deadline) = connection.deadline() {
            now = now.max(deadline.at.min(Instant::from_secs(100_000)));
            connection.on_deadline(now);
        }
    }
}

proptest! {
    #![proptest_config(crate::settings(4000))]

    #[test]
    fn changed_octets_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        is_linux in any::<bool>(),
    ) {
        let config = if is_linux { Config::linux() } else { Config::default() };
        let mut octets = octets(&config);
        for (place, value) in changes {
            let place = place.index(octets.len());
            octets[place] = value;
        }
        if let Ok(Some(snapshot)) = postcard::from_bytes::<Option<Snapshot>>(&octets)
            && let Ok(mut connection) = Connection::restore(config, snapshot, Instant::from_secs(2))
        {
            drive(&mut connection);
        }
    }
}
