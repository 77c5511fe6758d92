//! Runs this crate's fuzz targets on their corpora and on inputs derived from these. It also
//! created most of the corpus files.

#[path = "../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../fuzz/src/packet.rs"]
mod targets;

use std::fs;

use lasthop_packet::quote::error_about;
use lasthop_packet::rtp::{ReportBlock, Reports, Rtp, SenderInfo};
use lasthop_packet::wire::emit;
use lasthop_packet::{
    Icmp, Ip, Packet, Payload, SackBlocks, Seq, Tcp, TcpFlags, TcpOptions, Timestamps, Transport, Udp,
};
use replay::{corpus, replay};

#[test]
fn no_input_breaks_a_rule_of_parsing() {
    replay("packet_parse", targets::packet_parse);
}

#[test]
fn no_input_breaks_a_rule_of_quotations() {
    replay("quotation", targets::quotation);
}

#[test]
fn no_input_breaks_a_rule_of_rtp() {
    replay("rtp", targets::rtp);
}

#[test]
fn no_input_breaks_a_rule_of_link_options() {
    replay("link_options", targets::link_options);
}

#[test]
#[ignore = "writes the corpus; run it once after a change of the samples"]
fn write_the_corpus() {
    for (target, name, octets) in samples() {
        fs::write(corpus(target).join(name), octets).expect("a writable corpus");
    }
}

fn samples() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut samples = Vec::new();
    for (version, source, destination, kind) in
        [("v4", "192.0.2.1", "198.51.100.7", 11), ("v6", "2001:db8::1", "2001:db8::2", 3)]
    {
        let address = |text: &str| text.parse().expect("an address");
        let ip = Ip::new(address(source), address(destination));
        let timestamps = Some(Timestamps { value: 1, echo_reply: 2 });
        let mut sack = SackBlocks::NONE;
        for left in [3000, 5000, 7000] {
            sack.push(Seq(left), Seq(left + 1000));
        }
        let syn = TcpOptions {
            maximum_segment_size: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps,
            unknown: Some([30, 12, 0, 0x81, 1, 2, 3, 4, 5, 6, 7, 8].into()),
            ..TcpOptions::default()
        };
        let acknowledgment = TcpOptions { timestamps, sack, ..TcpOptions::default() };
        let tcp = |flags, options| {
            Transport::Tcp(Tcp {
                source_port: 40_000,
                destination_port: 80,
                seq: Seq(1),
                flags,
                options,
                ..Tcp::default()
            })
        };
        let packet =
            |transport, len| Packet::new(ip, transport, Payload::Stream { stream: 1, offset: 0, len });
        let data = packet(tcp(TcpFlags::ACK.with(TcpFlags::PSH), TcpOptions::default()), 33);
        let datagram = packet(Transport::Udp(Udp { source_port: 53, destination_port: 53 }), 20);
        let echo = if version == "v4" { 8 } else { 128 };
        let echo = packet(Transport::Icmp(Icmp { kind: echo, code: 0, rest_of_header: [1, 2, 3, 4] }), 16);
        let error = error_about(&data, ip.destination, kind, 0).expect("TCP has errors");
        for (name, packet) in [
            ("syn", packet(tcp(TcpFlags::SYN, syn), 0)),
            ("sack", packet(tcp(TcpFlags::ACK, acknowledgment), 0)),
            ("data", data),
            ("udp", datagram),
            ("echo", echo),
            ("error", error),
            ("esp", packet(Transport::Opaque { protocol: 50 }, 24)),
        ] {
            samples.push(("packet_parse", format!("{version}-{name}"), emit(&packet).to_vec()));
            if ["data", "udp", "echo", "error"].contains(&name) {
                samples.push(("quotation", format!("{version}-{name}"), emit(&packet).to_vec()));
            }
        }
        let mut padded = emit(&packet(tcp(TcpFlags::RST, TcpOptions::default()), 0)).to_vec();
        padded.extend_from_slice(&[0; 6]);
        samples.push(("packet_parse", format!("{version}-padded"), padded));
    }
    samples.extend(rtp_samples().into_iter().map(|(name, octets)| ("rtp", name.to_owned(), octets)));
    samples
}

fn rtp_samples() -> Vec<(&'static str, Vec<u8>)> {
    let header = Rtp { marker: true, payload_type: 18, sequence: 65_535, timestamp: 160, ssrc: 7 };
    let voice = [&header.octets()[..], &[42; 20]].concat();
    // A contributing source, an extension of one word, and three octets of padding.
    let mut padded = voice.clone();
    padded[0] |= 0x31;
    padded.splice(12..12, [9, 9, 9, 9, 0xbe, 0xde, 0, 1, 5, 5, 5, 5]);
    padded.extend([0, 0, 3]);
    let reports = |sender, blocks: &[ReportBlock]| {
        let mut octets = Vec::new();
        Reports { ssrc: 7, sender, blocks, cname: b"a@10.0.0.1" }.write(&mut octets);
        octets
    };
    let block = ReportBlock { ssrc: 8, lost: -1, highest: 65_536, ..ReportBlock::default() };
    let sender = reports(Some(SenderInfo { packets: 9, ..SenderInfo::default() }), &[block]);
    let truncated = sender[..sender.len() - 4].to_vec();
    vec![
        ("voice", voice),
        ("padded", padded),
        ("header-alone", header.octets().to_vec()),
        ("receiver-report", reports(None, &[block, block])),
        ("sender-report", sender),
        ("truncated-report", truncated),
    ]
}
