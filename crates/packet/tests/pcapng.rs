//! Rules of capture files, checked with Wireshark and tcpdump.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, ExitCode, Stdio};

use lasthop_needs::tests;
use lasthop_packet::pcapng::{Crossing, PcapngWriter};
use lasthop_packet::quote::error_about;
use lasthop_packet::{
    Instant, Ip, Packet, Payload, SackBlocks, Seq, Tcp, TcpFlags, TcpOptions, Timestamps, Transport, Udp,
    wire,
};
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        []:
            a_capture_reads_back_as_it_was_written,
            an_interface_that_is_not_there_is_refused,
            packets_that_are_dropped_have_an_interface_of_their_own_and_a_comment;
        [tcpdump]:
            tcpdump_reads_every_packet_of_a_capture;
        [tshark]:
            wireshark_finds_no_fault_in_a_capture,
            wireshark_would_have_found_a_wrong_checksum;
    })
}

fn tshark() -> Result<(), String> {
    lasthop_needs::program("tshark")
}

fn tcpdump() -> Result<(), String> {
    lasthop_needs::program("tcpdump")
}

/// Two hosts, of either family.
const HOSTS: [(IpAddr, IpAddr); 2] = [
    (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7))),
    (
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)),
    ),
];

/// A piece of a simulated stream.
fn stream(len: u32) -> Payload {
    Payload::Stream { stream: 7, offset: 0, len }
}

/// A SYN, data, an acknowledgment with SACK blocks, a datagram and an error message, over IPv4 and
/// IPv6.
fn packets() -> Vec<Packet> {
    let mut packets = Vec::new();
    for ((from, to), time_exceeded) in HOSTS.into_iter().zip([11, 3]) {
        let timestamps = Some(Timestamps { value: 100, echo_reply: 200 });
        let base =
            Tcp { source_port: 40_000, destination_port: 80, seq: Seq(1), window: 1000, ..Tcp::default() };
        let syn_options = TcpOptions {
            maximum_segment_size: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps,
            ..TcpOptions::default()
        };
        let mut sack = SackBlocks::NONE;
        sack.push(Seq(3000), Seq(4000));
        sack.push(Seq(5000), Seq(6000));
        let ack_options = TcpOptions { timestamps, sack, ..TcpOptions::default() };
        let syn = Tcp { flags: TcpFlags::SYN, options: syn_options, ..base.clone() };
        let data = Tcp { flags: TcpFlags::ACK.with(TcpFlags::PSH), seq: Seq(2), ..base.clone() };
        let ack = Tcp {
            source_port: 80,
            destination_port: 40_000,
            flags: TcpFlags::ACK,
            ack: Seq(1000),
            options: ack_options,
            ..base
        };
        let data = Packet::tcp_segment(Ip::new(from, to), data, stream(1001));
        packets.push(Packet::tcp_segment(Ip::new(from, to), syn, stream(0)));
        packets.push(data.clone());
        packets.push(Packet::tcp_segment(Ip::new(to, from), ack, stream(0)));
        let udp = Transport::Udp(Udp { source_port: 50_001, destination_port: 50_002 });
        packets.push(Packet::new(Ip::new(from, to), udp, stream(333)));
        packets.extend(error_about(&data, to, time_exceeded, 0));
    }
    assert_eq!(packets.len(), 10);
    packets
}

/// Odd nanoseconds above 2^32, so that both halves of the timestamp matter.
fn time_of(index: usize) -> Instant {
    Instant::from_nanos(4_999_999_999 + 1_000_000_001 * index as u64)
}

fn crossing_of(index: usize) -> Crossing {
    if index.is_multiple_of(3) { Crossing::Out } else { Crossing::In }
}

fn capture() -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), &["core", "radio"]).unwrap();
    for (index, packet) in packets().iter().enumerate() {
        writer.write(index as u32 % 2, time_of(index), crossing_of(index), packet).unwrap();
    }
    writer.finish().unwrap()
}

fn a_capture_reads_back_as_it_was_written() {
    let capture = capture();
    let mut reader = PcapNgReader::new(&capture[..]).unwrap();
    let mut names = Vec::new();
    let mut count = 0;
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                assert_eq!(interface.linktype, DataLink::LINUX_SLL);
                assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
                let InterfaceDescriptionOption::IfName(name) = &interface.options[0] else {
                    panic!("no name")
                };
                names.push(name.to_string());
            }
            Block::EnhancedPacket(block) => {
                assert_eq!(block.interface_id, count as u32 % 2);
                assert_eq!(block.timestamp, time_of(count).since(Instant::ZERO));
                let (header, octets) = block.data.split_at(16);
                assert_eq!(header[1] == 4, crossing_of(count) == Crossing::Out);
                assert_eq!(octets, &wire::emit(&packets()[count])[..]);
                assert_eq!(block.original_len as usize, block.data.len());
                count += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(names, ["core", "radio"]);
    assert_eq!(count, packets().len());
}

fn packets_that_are_dropped_have_an_interface_of_their_own_and_a_comment() {
    let mut writer = PcapngWriter::new(Vec::new(), &["core", "radio"]).unwrap();
    let [first, second] = [&packets()[0], &packets()[1]];
    writer.write(1, Instant::from_millis(1), Crossing::Out, first).unwrap();
    for millis in [2, 3] {
        writer.write_dropped(Instant::from_millis(millis), second, "radio: queue full").unwrap();
    }
    let capture = writer.finish().unwrap();
    let mut reader = PcapNgReader::new(&capture[..]).unwrap();
    let (mut interfaces, mut comments) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => match &interface.options[0] {
                InterfaceDescriptionOption::IfName(name) => interfaces.push(name.to_string()),
                other => panic!("{other:?}"),
            },
            Block::EnhancedPacket(block) => {
                let comment = block.options.first().map(|option| match option {
                    EnhancedPacketOption::Comment(comment) => comment.to_string(),
                    other => panic!("{other:?}"),
                });
                comments.push((block.interface_id, comment));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(interfaces, ["core", "radio", "dropped"]);
    let comment = Some("radio: queue full".to_owned());
    assert_eq!(comments, [(1, None), (2, comment.clone()), (2, comment)]);
}

fn an_interface_that_is_not_there_is_refused() {
    let mut writer = PcapngWriter::new(Vec::new(), &["core"]).unwrap();
    let error = writer.write(1, Instant::ZERO, Crossing::In, &packets()[0]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

fn tcpdump_reads_every_packet_of_a_capture() {
    let mut command = Command::new("tcpdump");
    command.args(["-e", "-n", "-r", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it is installed");
    child.stdin.take().unwrap().write_all(&capture()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" > ")).collect();
    assert_eq!(lines.len(), packets().len(), "{text}");
    assert!(
        lines[0].contains("Out") && lines[0].contains("192.0.2.1.40000 > 198.51.100.7.80: Flags [S]"),
        "{text}"
    );
    assert!(lines[5].contains(" In ") && lines[5].contains("2001:db8::1.40000 > 2001:db8::2.80"), "{text}");
}

/// tshark's view of a capture: a line for each packet, fields separated by tabs.
fn read_with_tshark(capture: &[u8], fields: &[&str]) -> String {
    let mut command = Command::new("tshark");
    command.args(["-r", "-", "-n", "-T", "fields"]);
    for protocol in ["tcp", "udp", "ip"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it is installed");
    child.stdin.take().unwrap().write_all(capture).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn wireshark_finds_no_fault_in_a_capture() {
    let fields = [
        "frame.time_epoch",
        "frame.interface_name",
        "ip.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
        "icmp.checksum.status",
        "icmpv6.checksum.status",
        "_ws.malformed",
        "_ws.expert.message",
        "frame.protocols",
        "tcp.options.sack.count",
    ];
    let output = read_with_tshark(&capture(), &fields);
    let lines: Vec<Vec<&str>> = output.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), packets().len());
    for (index, line) in lines.iter().enumerate() {
        let nanos = time_of(index).as_nanos();
        assert_eq!(line[0], format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000));
        assert_eq!(line[1], ["core", "radio"][index % 2]);
        // 1 is "good"; an error message has two headers of a kind, and the second is only quoted.
        let statuses: Vec<&str> = line[2..7].iter().filter(|status| !status.is_empty()).copied().collect();
        assert!(!statuses.is_empty());
        for status in statuses {
            assert!(status == "1" || status.starts_with("1,"), "packet {index}: {line:?}");
        }
        assert_eq!(line[7], "", "packet {index} is malformed: {line:?}");
        for fault in ["Bad", "bad", "incorrect", "Malformed", "bogus"] {
            assert!(!line[8].contains(fault), "packet {index}: {line:?}");
        }
        assert_eq!(line[10] == "2", index % 5 == 2, "SACK blocks of packet {index}: {line:?}");
    }
}

fn wireshark_would_have_found_a_wrong_checksum() {
    let mut capture = capture();
    let last = capture.len() - 4 - 4;
    let data = capture.windows(4).position(|window| window == [0x45, 0, 0, 60]).unwrap();
    assert!(data < last);
    capture[data + 8] ^= 1;
    let output = read_with_tshark(&capture, &["ip.checksum.status"]);
    assert!(output.starts_with('0'), "{output}");
}
