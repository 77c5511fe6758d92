//! The rules of the uplink half, with hand-made packets.

use std::net::{IpAddr, Ipv4Addr};

use lasthop_agent::{Agent as _, Outbox, Verdict};
use lasthop_packet::{Ip, Rng, Tcp, Timestamps, Transport};
use lasthop_tcp::{Config, Connection};
use proptest::prelude::*;

use super::*;
use crate::edits::But;
use crate::snoop::Snoop;
use crate::snoop::settings::{Settings, UplinkHalf};
use crate::snoop::today::Today;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const PHONE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const SEGMENT: u32 = 100;

/// A Snoop agent with an uplink half, and a clock in milliseconds, which both hosts share.
struct Bench {
    snoop: Snoop<Today>,
    millis: u64,
    rng: Rng,
    last_tsval: u32,
}

impl Bench {
    /// Ten segments have arrived, up to 1000, and are acknowledged.
    fn new() -> Self {
        let settings = Settings { uplink: UplinkHalf::Nack, ..Settings::default() };
        let mut bench =
            Self { snoop: Snoop::new(settings), millis: 1000, rng: Rng::named(1, "uplink"), last_tsval: 0 };
        for segment in 0..10 {
            bench.wait(2).data(segment);
            bench.wait(2).ack(SEGMENT * (segment + 1));
        }
        bench
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.millis += millis;
        self
    }

    fn pass(&mut self, packet: &Packet, from: Side) -> Vec<Packet> {
        let (mut passing, mut outbox) = (packet.clone(), Outbox::default());
        let mut cx = Context::new(Instant::from_millis(self.millis), &mut self.rng, &mut outbox);
        assert_eq!(self.snoop.on_packet(&mut passing, from, &mut cx), Verdict::Forward);
        assert_eq!(passing, *packet);
        outbox
            .packets
            .into_iter()
            .map(|(to, packet)| (to == Side::Radio).then_some(packet).expect("to the phone"))
            .collect()
    }

    /// Passes a segment. Returns the holes reported to the phone.
    fn data(&mut self, segment: u32) -> Vec<(u32, u32)> {
        let payload = Payload::Stream { stream: 1, offset: u64::from(segment * SEGMENT), len: SEGMENT };
        let value = self.millis as u32 - 2;
        let packet = header(PHONE, 4000, SERVER, 80, segment * SEGMENT, 7, value, self.last_tsval);
        let Transport::Tcp(tcp) = packet.transport().clone() else { panic!("TCP") };
        let nacks = self.pass(&Packet::tcp_segment(*packet.ip(), tcp, payload), Side::Radio);
        let nacks = nacks.iter().filter_map(|nack| Nack::among(nack.tcp()?.options.unknown.as_deref()?));
        nacks
            .flat_map(|nack| nack.holes().iter().map(|(left, right)| (left.0, right.0)).collect::<Vec<_>>())
            .collect()
    }

    fn ack(&mut self, number: u32) {
        let value = self.millis as u32;
        let packet = header(SERVER, 80, PHONE, 4000, 7, number, value, value - 25);
        assert!(self.pass(&packet, Side::Core).is_empty());
        self.last_tsval = value;
    }
}

#[expect(clippy::too_many_arguments, reason = "a header's fields")]
fn header(
    from: IpAddr,
    source: u16,
    to: IpAddr,
    destination: u16,
    seq: u32,
    ack: u32,
    value: u32,
    echo: u32,
) -> Packet {
    let mut tcp = Tcp {
        source_port: source,
        destination_port: destination,
        seq: Seq(seq),
        ack: Seq(ack),
        flags: TcpFlags::ACK,
        window: 1000,
        ..Tcp::default()
    };
    tcp.options.timestamps = Some(Timestamps { value, echo_reply: echo });
    Packet::tcp_segment(Ip::new(from, to), tcp, Payload::EMPTY)
}

#[test]
fn a_hole_is_reported_after_two_overtaking_segments_and_again_while_it_stays() {
    let mut bench = Bench::new();
    assert_eq!(bench.wait(2).data(11), []);
    assert_eq!(bench.wait(1).data(12), [(1000, 1100)]);
    assert_eq!(bench.wait(1).data(13), [], "it takes a round trip to come again");
    assert_eq!(bench.wait(12).data(14), [(1000, 1100)], "what was sent again may be lost, too");
    assert_eq!(bench.wait(1).data(10), []);
    assert_eq!(bench.wait(20).data(15), [], "it has been filled");
}

#[test]
fn a_nack_is_the_receivers_last_ack_with_an_option() {
    let mut bench = Bench::new();
    bench.wait(2).data(11);
    let payload = Payload::Stream { stream: 1, offset: 1200, len: SEGMENT };
    let mut packet = header(PHONE, 4000, SERVER, 80, 1200, 7, bench.millis as u32, bench.last_tsval);
    packet.set_payload(payload);
    let nacks = bench.pass(&packet, Side::Radio);
    let mut expected = Nack::default();
    expected.push(Seq(1000), Seq(1100));
    let mut last = header(SERVER, 80, PHONE, 4000, 7, 1000, bench.last_tsval, bench.last_tsval - 25);
    last.tcp_mut().expect("TCP").options.unknown = Some(expected.to_option());
    assert_eq!(nacks, [last]);
}

#[test]
fn an_acknowledgment_and_a_reset_end_a_hole() {
    let mut bench = Bench::new();
    bench.wait(2).data(11);
    bench.ack(1200);
    assert_eq!(bench.wait(1).data(12), [], "it came another way");
    bench.wait(1).data(14);
    let mut reset = header(SERVER, 80, PHONE, 4000, 7, 1300, 1, 1);
    reset.tcp_mut().expect("TCP").flags = TcpFlags::RST;
    bench.pass(&reset, Side::Core);
    assert_eq!(bench.wait(1).data(15), [], "of what comes then nothing is known before");
}

proptest! {
    #[test]
    fn arbitrary_options_cause_no_panic_and_nacks_round_trip(
        octets in proptest::collection::vec(any::<u8>(), 0..40),
        holes in proptest::collection::vec((any::<u32>(), any::<u32>()), 0..3),
    ) {
        let _ = Nack::among(&octets);
        let mut nack = Nack::default();
        for (left, right) in &holes {
            nack.push(Seq(*left), Seq(*right));
        }
        let options = [&[30, 4, 0, 0], nack.to_option().as_ref()].concat();
        prop_assert_eq!(Nack::among(&options), Some(nack));
    }
}

#[test]
fn a_nack_during_a_download_has_the_next_sequence_number() {
    let mut bench = Bench::new();
    let mut download = header(SERVER, 80, PHONE, 4000, 7, 1000, bench.millis as u32, 1);
    download.set_payload(Payload::Stream { stream: 2, offset: 0, len: 500 });
    bench.pass(&download, Side::Core);
    bench.wait(2).data(11);
    bench.wait(1);
    let mut packet = header(PHONE, 4000, SERVER, 80, 1200, 7, bench.millis as u32, bench.last_tsval);
    packet.set_payload(Payload::Stream { stream: 1, offset: 1200, len: SEGMENT });
    let nacks = bench.pass(&packet, Side::Radio);
    assert_eq!(nacks.iter().filter_map(Packet::tcp).map(|tcp| tcp.seq).collect::<Vec<_>>(), [Seq(507)]);
}

#[test]
fn a_fin_alone_is_one_segment_and_one_may_overtake() {
    let mut bench = Bench::new();
    let mut fin = header(PHONE, 4000, SERVER, 80, 1100, 7, bench.millis as u32, bench.last_tsval);
    if let Some(tcp) = fin.tcp_mut() {
        tcp.flags = TcpFlags::ACK.with(TcpFlags::FIN);
    }
    assert_eq!(bench.pass(&fin, Side::Radio), []);
}

#[test]
fn nacks_for_later_holes_do_not_count_as_duplicate_acks_for_the_oldest_segment() {
    let config = Config { mss: SEGMENT, window: 60_000, initial_window: 8, ..Config::default() };
    let (phone, server) = ((PHONE, 4000), (SERVER, 80));
    let sender = Connection::established(config.clone(), &config, phone, server, Seq(0), Seq(6));
    let mut sender = sender.with_sender_extension(Some(Box::new(NackSender::default())));
    let now = Instant::from_secs(1);
    sender.write_stream(1, 0, u64::from(8 * SEGMENT));
    while sender.poll_transmit(now).is_some() {}
    let mut sent_again = Vec::new();
    for hole in 3..6 {
        let mut nack = Nack::default();
        nack.push(Seq(1 + hole * SEGMENT), Seq(1 + (hole + 1) * SEGMENT));
        let packet = header(SERVER, 80, PHONE, 4000, 7, 1, 0, 0).but(|tcp| {
            (tcp.window, tcp.options.timestamps) = (60_000, None);
            tcp.options.unknown = Some(nack.to_option());
        });
        sender.on_segment(&packet, now);
        while let Some(packet) = sender.poll_transmit(now) {
            sent_again.extend(packet.tcp().map(|tcp| tcp.seq));
        }
    }
    assert_eq!(sent_again, [3, 4, 5].map(|hole| Seq(1 + hole * SEGMENT)));
    assert_eq!(sender.stats().fast_retransmits, 0);
}
