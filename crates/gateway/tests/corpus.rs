//! Runs the fuzz targets of this crate on their corpora and on inputs derived from these, and
//! contains the generator of the corpus `frames`.

#[path = "../../../fuzz/src/gateway.rs"]
mod gateway;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../fuzz/src/requests.rs"]
mod requests;
#[path = "../../../fuzz/src/frame.rs"]
mod targets;

use std::fs;

use lasthop_packet::wire::emit;
use lasthop_packet::{
    Ip, Packet, Payload, SackBlocks, Seq, Tcp, TcpFlags, TcpOptions, Timestamps, Transport, Udp,
};
use replay::{corpus, replay};

#[test]
fn no_input_breaks_a_rule_of_frames() {
    replay("frames", targets::frames);
}

#[test]
fn no_input_breaks_a_rule_of_the_configuration() {
    replay("gateway_config", gateway::gateway_config);
}

#[test]
fn no_input_breaks_a_rule_of_requests() {
    replay("gateway_question", requests::gateway_question);
}

#[test]
fn no_input_breaks_a_rule_of_http() {
    replay("http_request", requests::http_request);
}

#[test]
#[ignore = "writes the corpus; run it once after a change of the samples"]
fn write_the_corpus() {
    fs::create_dir_all(corpus("frames")).expect("a writable corpus");
    for (name, octets) in samples() {
        fs::write(corpus("frames").join(name), octets).expect("a writable corpus");
    }
}

/// Flags of the fuzz target's own header.
const ETHERNET: u8 = 1;
const RIGHT: u8 = 2;
const PARTIAL: u8 = 4;
const SUPER: u8 = 8;
const CWR: u8 = 16;

fn samples() -> Vec<(String, Vec<u8>)> {
    let mut samples = Vec::new();
    for (version, source, destination, kind) in
        [("v4", "192.0.2.1", "198.51.100.7", [8, 0]), ("v6", "2001:db8::1", "2001:db8::2", [0x86, 0xdd])]
    {
        let ip = Ip::new(source.parse().expect("an address"), destination.parse().expect("an address"));
        let timestamps = Some(Timestamps { value: 1, echo_reply: 2 });
        let mut sack = SackBlocks::NONE;
        sack.push(Seq(3000), Seq(4000));
        let tcp = |flags, options| Tcp {
            source_port: 40_000,
            destination_port: 80,
            flags,
            options,
            ..Tcp::default()
        };
        let payload = |len| Payload::Stream { stream: 1, offset: 0, len };
        let segment =
            |flags, options, len| emit(&Packet::tcp_segment(ip, tcp(flags, options), payload(len))).to_vec();
        let syn = TcpOptions { maximum_segment_size: Some(1460), timestamps, ..TcpOptions::default() };
        let ack = TcpOptions { timestamps, sack, ..TcpOptions::default() };
        let data = segment(TcpFlags::ACK, TcpOptions::default(), 40);
        let with = |changes: &[(usize, u8)]| {
            let mut octets = data.clone();
            for &(at, octet) in changes {
                octets[at] = octet;
            }
            octets
        };
        let quic = Transport::Udp(Udp { source_port: 443, destination_port: 443 });
        let quic = emit(&Packet::new(ip, quic, payload(60))).to_vec();
        let header = if version == "v4" { 20 } else { 40 };
        let tags = [0x88, 0xa8, 0, 9, 0x81, 0, 0, 5];
        let ethernet = |tags: &[u8], packet: &[u8]| [&[2; 12], tags, &kind, packet].concat();
        let mut add = |name: &str, flags: u8, link: usize, frame: &[u8]| {
            let start = ((link + header) as u16).to_be_bytes();
            let head = [flags, start[0], start[1], 0, 16, 0, 20];
            samples.push((format!("{version}-{name}"), [&head, frame].concat()));
        };
        add("syn", 0, 0, &segment(TcpFlags::SYN, syn, 0));
        add("sack", RIGHT, 0, &segment(TcpFlags::ACK, ack, 0));
        add("data", PARTIAL, 0, &data);
        add("super", PARTIAL | SUPER, 0, &data);
        add(
            "super-cwr",
            PARTIAL | SUPER | CWR,
            0,
            &segment(TcpFlags::ACK.with(TcpFlags::CWR), TcpOptions::default(), 41),
        );
        add("ethernet", ETHERNET, 14, &ethernet(&[], &data));
        add("vlan", ETHERNET | PARTIAL, 18, &ethernet(&tags[4..], &data));
        add("vlans", ETHERNET | PARTIAL | SUPER, 22, &ethernet(&tags, &data));
        add("vlans-too-many", ETHERNET, 26, &ethernet(&[tags, tags].concat(), &data));
        add("padded", ETHERNET, 14, &[&ethernet(&[], &data)[..], &[0; 6]].concat());
        add("truncated", ETHERNET, 14, &ethernet(&[], &data[..50]));
        add("tcp-header-truncated", RIGHT, 0, &data[..header + 10]);
        add("wrong-checksum", 0, 0, &with(&[(header + 30, 0xee)]));
        add("checksum-elsewhere", ETHERNET | PARTIAL, 0, &ethernet(&[], &data));
        add("data-offset-short", RIGHT, 0, &with(&[(header + 12, 0x40)]));
        add("data-offset-long", RIGHT, 0, &with(&[(header + 12, 0xf0)]));
        add("quic", 0, 0, &quic);
        add("quic-super", SUPER, 0, &quic);
        if version == "v4" {
            add("esp", 0, 0, &with(&[(9, 50)]));
            add("fragment", 0, 0, &with(&[(6, 0x20)]));
            add("ip-options", 0, 0, &with(&[(0, 0x46)]));
            add("big-tcp", PARTIAL | SUPER, 0, &with(&[(2, 0), (3, 0)]));
        } else {
            add("esp", 0, 0, &with(&[(6, 50)]));
            add("fragment", 0, 0, &with(&[(6, 44)]));
            add("extension", 0, 0, &with(&[(6, 0)]));
            add("big-tcp", PARTIAL | SUPER, 0, &with(&[(4, 0), (5, 0)]));
        }
    }
    samples
}
