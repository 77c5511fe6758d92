//! Malformed options, and errors between two stations: the stream is not affected.

use proptest::prelude::*;

use super::*;

/// A packet without its window and its options.
fn rest(packet: &Packet) -> Packet {
    let mut rest = packet.clone();
    rest.set_link_options(None);
    if let Some(tcp) = rest.tcp_mut() {
        tcp.window = 0;
    }
    rest
}

proptest! {
    #[test]
    fn arbitrary_options_change_only_the_window_within_its_bounds(
        values in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..40), 0u8..3, any::<u64>()), 1..40),
    ) {
        let [mut n1, _] = ends(&unsmoothed(), [None; 2]);
        n1.see(&mut segment([N1, N4], 1, MSS, 1), Side::Core);
        for (is_data, mut octets, kind, nanos) in values {
            // Often with a known type and version.
            let data = if kind == 0 { 9 } else { 13 };
            if kind < 2 && octets.len() > data {
                octets.truncate(data);
                octets[0] = 1;
            }
            let options = LinkOptions::NONE.with(kind + 1, &octets).unwrap_or(LinkOptions::NONE);
            let sent = segment([N4, N1], 1, if is_data { MSS } else { 0 }, 1001);
            let mut packet = with(sent.clone(), Some(options));
            n1.see(&mut packet, Side::Radio);
            prop_assert_eq!(rest(&packet), rest(&sent));
            prop_assert!(u32::from(window(&packet)) >= 2 * MSS && window(&packet) <= window(&sent));
            // A relay's measurements of it, with arbitrary values.
            let times = FrameTimes { began: Instant::from_nanos(nanos), ..TIMES };
            let _ = after_hop(&options, Forward::from_frame(MSS, &times), micros(times.since_queued()));
            let mut own = segment([N1, N4], 1001, MSS, 1);
            n1.see(&mut own, Side::Core);
            prop_assert_eq!(rest(&own), rest(&segment([N1, N4], 1001, MSS, 1)));
        }
    }
}

#[test]
fn between_two_stations_an_access_point_is_a_relay() {
    let [mut n1, mut n4] = ends(&unsmoothed(), [None; 2]);
    let mut access_point = Station::new(N2, unsmoothed());
    access_point.see(&mut syn([N1, N4], TcpFlags::SYN, None), Side::Radio);
    access_point.see(&mut syn([N4, N1], TcpFlags::SYN.with(TcpFlags::ACK), None), Side::Radio);

    let mut data = segment([N1, N4], 1, MSS, 1);
    n1.see(&mut data, Side::Core);
    n1.transmit(&mut data, &TIMES);
    access_point.see(&mut data, Side::Radio);
    access_point.transmit(&mut data, &TIMES);
    n4.see(&mut data, Side::Radio);
    let mut ack = segment([N4, N1], 1, 0, 1001);
    let unlimited = window(&ack);
    n4.see(&mut ack, Side::Core);
    n4.transmit(&mut ack, &TIMES);
    access_point.see(&mut ack, Side::Radio);
    assert_eq!(window(&ack), unlimited, "what the access point knows is half of the path");
    access_point.transmit(&mut ack, &TIMES);
    let Ok(Some(backward)) = ack.link_options().map_or(Ok(None), Backward::from_options) else {
        panic!("it has them")
    };
    assert_eq!((backward.echo.delay, backward.delay), (6_000, 12_000), "of both hops");
    n1.see(&mut ack, Side::Radio);
    assert!(window(&ack) < unlimited);
}
