//! Messages that a sender must ignore (RFC 5927, section 4), and a sender without a scheme.

use lasthop_packet::Transport;

use super::*;

fn senders() -> [Option<Box<dyn SenderExtension>>; 3] {
    [None, Some(Box::new(SimpleSender::default())), Some(Box::new(RefinedSender::default()))]
}

/// It sends nothing, its timer does not change, and later losses count as congestion.
fn assert_unmoved(bench: &mut Bench, packet: &Packet, what: &str) {
    assert!(bench.at(300).icmp(packet).is_empty(), "{what}");
    assert_eq!((bench.timer(), bench.window()), (1000, (8, 4)), "{what}");
    assert!(bench.ack(0).is_empty(), "{what}");
    assert_eq!(bench.window(), (8, 4), "{what}");
    bench.expire();
    assert_eq!(bench.window(), (1, 4), "{what}");
}

/// A change to the octets of a quoted IP header or to the eight after it, in both versions.
fn requoted(packet: &Packet, change: impl FnOnce(&mut Vec<u8>, usize)) -> Packet {
    let mut packet = packet.clone();
    let mut quoted = packet.payload().octets().to_vec();
    let header = if packet.ip().source.is_ipv4() { 20 } else { 40 };
    change(&mut quoted, header);
    packet.set_payload(Payload::Bytes(quoted.into()));
    packet
}

fn with_type(packet: &Packet, kind: u8, code: u8) -> Packet {
    let Transport::Icmp(icmp) = packet.transport() else { panic!("it is ICMP") };
    let icmp = lasthop_packet::Icmp { kind, code, ..*icmp };
    Packet::new(*packet.ip(), Transport::Icmp(icmp), packet.payload().clone())
}

fn bad_messages(hosts: Hosts, message: Message) -> Vec<(&'static str, Packet)> {
    let about = |segment: &Packet| message.about(segment, hosts.node).expect("a TCP segment");
    let good = about(&hosts.segment(0));
    let other_version =
        both_versions().into_iter().find(|other| other.server.is_ipv4() != hosts.server.is_ipv4());
    let first = first_octet();
    vec![
        ("before the window", about(&hosts.segment_at(Seq(first.0.wrapping_sub(MSS))))),
        ("behind all that was sent", about(&hosts.segment_at(first + FLIGHT * MSS))),
        ("far away", about(&hosts.segment_at(first + (1 << 31)))),
        ("within a segment", about(&hosts.segment_at(first + 1))),
        ("another port here", requoted(&good, |quoted, header| quoted[header + 1] ^= 1)),
        ("another port there", requoted(&good, |quoted, header| quoted[header + 3] ^= 1)),
        ("another peer", requoted(&good, |quoted, header| quoted[header - 1] ^= 1)),
        ("another source", requoted(&good, |quoted, header| quoted[if header == 20 { 12 } else { 8 }] ^= 1)),
        ("a truncated quotation", requoted(&good, |quoted, header| quoted.truncate(header + 7))),
        ("no quotation", requoted(&good, |quoted, _| quoted.clear())),
        ("another version's quotation", requoted(&good, |quoted, _| quoted[0] ^= 0x20)),
        ("another type", with_type(&good, 3, 0)),
        ("an echo", with_type(&good, if hosts.server.is_ipv4() { 8 } else { 128 }, 0)),
        ("the other version's type", with_type(&good, if hosts.server.is_ipv4() { 100 } else { 253 }, 0)),
        ("another code", with_type(&good, if hosts.server.is_ipv4() { 253 } else { 100 }, 2)),
        (
            "another connection",
            message
                .about(&other_version.expect("there are two").segment(0), hosts.node)
                .unwrap_or(with_type(&good, 3, 1)),
        ),
    ]
}

#[test]
fn a_malformed_foreign_or_out_of_window_message_changes_nothing() {
    for hosts in both_versions() {
        for message in [Message::Defer, Message::Retransmit] {
            for (what, packet) in bad_messages(hosts, message) {
                for extension in senders() {
                    assert_unmoved(&mut Bench::new(hosts, extension), &packet, what);
                }
            }
        }
    }
}

#[test]
fn a_sender_without_the_scheme_ignores_the_messages() {
    for hosts in both_versions() {
        for message in [Message::Defer, Message::Retransmit] {
            let packet = message.about(&hosts.segment(0), hosts.node).expect("a TCP segment");
            assert_unmoved(&mut Bench::new(hosts, None), &packet, message.name());
        }
    }
}

#[test]
fn a_flood_of_messages_costs_neither_memory_nor_the_connection() {
    for extension in senders() {
        let hosts = both_versions()[0];
        let mut bench = Bench::new(hosts, extension);
        for message in [Message::Defer, Message::Retransmit] {
            for offset in 0..20_000 {
                let segment = hosts.segment_at(first_octet() + offset);
                let sent = bench.icmp(&message.about(&segment, hosts.node).expect("a TCP segment"));
                assert!(sent.len() <= 1);
            }
        }
        assert_eq!(bench.window(), (8, 4));
        assert!(!bench.ack(FLIGHT).is_empty());
    }
}
