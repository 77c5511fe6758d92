//! Frames of every kind through a running daemon: they arrive unchanged, and it sees none but the
//! TCP that it is for.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use lasthop_gateway::device::FrameDevice;
use lasthop_linux::device::Kind as DeviceKind;
use lasthop_packet::wire::emit;
use lasthop_packet::{Ip, Packet, Payload, Seq, Tcp, TcpFlags};

use crate::alone;
use crate::hosts::{Daemon, PATIENCE, Site, soon};

/// Before each frame of a device: no offloads.
const NO_OFFLOADS: [u8; 10] = [0; 10];
const FROM: [u8; 6] = [2, 0, 0, 0, 0, 7];
const TO: [u8; 6] = [2, 0, 0, 0, 0, 8];

/// The gateway is a bridge between two wires whose other ends are in our hand.
struct Wires {
    site: Site,
    core: FrameDevice,
    radio: FrameDevice,
}

impl Wires {
    fn new() -> Self {
        let site = Site::hosts();
        let device = |name: &str| {
            let made = || {
                let device = FrameDevice::new(name, DeviceKind::Tap).expect("TAP devices are to be had");
                device.bring_up(9_000, true).expect("it comes up");
                device
            };
            site.gateway.enter(made).expect("enter")
        };
        let (core, radio) = (device("core"), device("radio"));
        let bridge = ["link add lan type bridge mcast_snooping 0", "link set lan addrgenmode none"];
        site.gateway.ip(&bridge).expect("a bridge");
        let members = ["link set core master lan", "link set radio master lan", "link set lan mtu 9000 up"];
        site.gateway.ip(&members).expect("members");
        // A kernel with br_netfilter would look at IP headers itself; one without has no such
        // setting.
        for filter in ["iptables", "ip6tables", "arptables"] {
            let _ = site.gateway.sysctl(&format!("bridge/bridge-nf-call-{filter}"), "0");
        }
        Self { site, core, radio }
    }

    /// Puts frames on one wire, and waits until as many, or no more, come by the other.
    fn carry(&self, upward: bool, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (from, to) = if upward { (&self.radio, &self.core) } else { (&self.core, &self.radio) };
        let mut came = Vec::new();
        for batch in frames.chunks(64) {
            for frame in batch {
                rustix::io::write(from, &[&NO_OFFLOADS, &frame[..]].concat()).expect("it is sent");
            }
            take(to, &mut came, batch.len());
        }
        came
    }
}

fn take(from: &FrameDevice, came: &mut Vec<Vec<u8>>, count: usize) {
    let (deadline, goal) = (Instant::now() + PATIENCE, came.len() + count);
    let mut octets = vec![0; 70_000];
    while came.len() < goal && Instant::now() < deadline {
        match rustix::io::read(from, &mut octets) {
            Ok(len) => came.push(octets[NO_OFFLOADS.len()..len].to_vec()),
            Err(_) => thread::sleep(Duration::from_micros(200)),
        }
    }
}

fn ethernet(kind: [u8; 2], rest: &[u8]) -> Vec<u8> {
    [&TO[..], &FROM, &kind, rest].concat()
}

/// An IPv4 packet with a right header checksum.
fn ipv4(protocol: u8, fragment: u16, options: &[u8], rest: &[u8]) -> Vec<u8> {
    let words = 5 + options.len() / 4;
    let len = (4 * words + rest.len()) as u16;
    let mut header = vec![0x40 | words as u8, 0];
    header.extend(len.to_be_bytes());
    header.extend([0, 9]);
    header.extend(fragment.to_be_bytes());
    header.extend([64, protocol, 0, 0, 192, 0, 2, 7, 192, 0, 2, 8]);
    header.extend(options);
    let sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    ethernet([8, 0], &[&header, rest].concat())
}

fn ipv6(next: u8, rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((rest.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    packet.extend([0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    packet.extend([0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8]);
    packet.extend(rest);
    ethernet([0x86, 0xdd], &packet)
}

fn udp(source: u16, destination: u16, len: usize) -> Vec<u8> {
    let mut datagram = Vec::new();
    datagram.extend(source.to_be_bytes());
    datagram.extend(destination.to_be_bytes());
    datagram.extend(((8 + len) as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.resize(8 + len, 0xc3);
    datagram
}

/// A segment of TCP alone.
fn tcp(ports: (u16, u16), flags: TcpFlags, len: u32) -> Vec<u8> {
    let ip = Ip::new([192, 0, 2, 7].into(), [192, 0, 2, 8].into());
    let (source_port, destination_port) = ports;
    let tcp = Tcp { source_port, destination_port, seq: Seq(77), flags, window: 999, ..Tcp::default() };
    emit(&Packet::tcp_segment(ip, tcp, Payload::Stream { stream: 1, offset: 0, len }))[20..].to_vec()
}

/// What the daemon is not to see.
fn not_for_us() -> BTreeMap<&'static str, Vec<u8>> {
    let segment = tcp((1_000, 80), TcpFlags::ACK, 100);
    let options = [0x94, 4, 0, 0];
    let mut frames = BTreeMap::from([
        ("QUIC", ipv4(17, 0, &[], &udp(50_000, 443, 1_200))),
        ("UDP of IPv6", ipv6(17, &udp(50_000, 443, 1_200))),
        ("UDP in a jumbo frame", ipv4(17, 0, &[], &udp(50_000, 443, 8_900))),
        ("ESP", ipv4(50, 0, &[], &[0x5a; 200])),
        ("ESP of IPv6", ipv6(50, &[0x5a; 200])),
        ("GRE", ipv4(47, 0, &[], &[0x5a; 200])),
        ("SCTP", ipv4(132, 0, &[], &[0x5a; 200])),
        ("IP in IP", ipv4(4, 0, &[], &ipv4(6, 0, &[], &segment)[14..])),
        ("ICMP", ipv4(1, 0, &[], &[8, 0, 0xf7, 0xff, 0, 0, 0, 0])),
        ("TCP with IP options", ipv4(6, 0, &options, &segment)),
        ("the first fragment of TCP", ipv4(6, 0x2000, &[], &segment)),
        ("a later fragment of TCP", ipv4(6, 185, &[], &segment)),
        ("the last fragment of UDP", ipv4(17, 185, &[], &udp(50_000, 443, 600))),
        (
            "TCP of IPv6 behind a hop-by-hop header",
            ipv6(0, &[&[6, 0, 5, 2, 0, 0, 1, 0], &segment[..]].concat()),
        ),
        ("a fragment of IPv6", ipv6(44, &[&[6, 0, 0, 1, 0, 0, 0, 9], &segment[..]].concat())),
        ("half a header of TCP", ipv4(6, 0, &[], &segment[..10])),
        ("no header of TCP at all", ipv4(6, 0, &[], &[])),
        ("ARP", ethernet([8, 6], &[&[0, 1, 8, 0, 6, 4, 0, 1], &[7; 20][..]].concat())),
        ("an experiment", ethernet([0x88, 0xb5], &[9; 300])),
        ("LLC", ethernet([0, 40], &[0x42; 40])),
        ("MPLS", ethernet([0x88, 0x47], &[9; 300])),
        ("PPPoE", ethernet([0x88, 0x64], &[9; 300])),
        ("nothing behind the header", ethernet([8, 0], &[])),
        ("an octet of IP", ethernet([8, 0], &[0x45])),
        ("IP of version 7", ethernet([8, 0], &[0x75; 60])),
        ("ssh", ipv4(6, 0, &[], &tcp((40_000, 22), TcpFlags::SYN, 0))),
    ]);
    let mut short = tcp((1_000, 80), TcpFlags::ACK, 100);
    short[12] = 0x40;
    frames.insert("a data offset of 4", ipv4(6, 0, &[], &short));
    let mut empty = ipv4(6, 0, &[], &segment);
    empty[16..18].copy_from_slice(&[0, 0]);
    frames.insert("a length of zero", empty);
    frames
}

/// TCP that is wrong in some way: it is passed on untouched.
fn for_nobody() -> BTreeMap<&'static str, Vec<u8>> {
    let whole = ipv4(6, 0, &[], &tcp((1_001, 80), TcpFlags::SYN, 0));
    let with = |at: usize, octet: u8| {
        let mut frame = whole.clone();
        frame[at] = octet;
        frame
    };
    let tcp_at = 14 + 20;
    BTreeMap::from([
        ("a wrong checksum of IP", with(24, whole[24] ^ 1)),
        ("a wrong checksum of TCP", with(tcp_at + 16, whole[tcp_at + 16] ^ 1)),
        ("a header longer than the packet", with(tcp_at + 12, 0xf0)),
        ("more length than octets", with(17, 255)),
        ("less length than headers", with(17, 21)),
        ("all flags", with(tcp_at + 13, 0xff)),
        ("no flags", with(tcp_at + 13, 0)),
        ("padding", [&whole[..], &[0; 6]].concat()),
    ])
}

/// TCP that an agent is asked about.
fn for_agents() -> BTreeMap<&'static str, Vec<u8>> {
    BTreeMap::from([
        ("a SYN", ipv4(6, 0, &[], &tcp((1_002, 80), TcpFlags::SYN, 0))),
        ("data of nobody's connection", ipv4(6, 0x4000, &[], &tcp((1_003, 80), TcpFlags::ACK, 1_000))),
        ("data in a jumbo frame", ipv4(6, 0x4000, &[], &tcp((1_004, 80), TcpFlags::ACK, 8_900))),
        ("a reset", ipv4(6, 0, &[], &tcp((1_005, 80), TcpFlags::RST, 0))),
        ("TCP over IPv6 with a wrong checksum", ipv6(6, &tcp((1_006, 80), TcpFlags::ACK, 50))),
    ])
}

pub fn frames_of_every_kind_arrive_unchanged_and_only_tcp_is_seen() {
    let _alone = alone();
    let wires = Wires::new();
    // What of this set the bridge itself carries is known without a gateway.
    let sets = [(not_for_us(), false), (for_nobody(), true), (for_agents(), true)];
    let carried: Vec<Vec<&str>> = sets
        .iter()
        .map(|(frames, _)| {
            frames
                .iter()
                .filter(|(_, frame)| wires.carry(true, &[(*frame).clone()]) == [(*frame).clone()])
                .map(|(name, _)| *name)
                .collect()
        })
        .collect();
    let mut daemon = Daemon::start(&wires.site.gateway, "");
    for ((frames, is_seen), carried) in sets.iter().zip(&carried) {
        assert!(carried.len() + 2 >= frames.len(), "of {:?} only {carried:?}", frames.keys());
        for name in carried {
            for upward in [true, false] {
                // A daemon that the machine lets wait steps out, and then sees nothing.
                let seen = soon(|| {
                    daemon.is_in_again();
                    let (steps_out, before) = (daemon.count("/punctuality/steps_out"), daemon.received());
                    let came = wires.carry(upward, &[frames[name].clone()]);
                    assert_eq!(came, [frames[name].clone()], "{name}");
                    let seen = daemon.received() - before;
                    let stayed = daemon.count("/punctuality/steps_out") == steps_out;
                    if stayed { Ok(seen) } else { Err(format!("it steps out: {}", daemon.log())) }
                });
                assert_eq!(seen, u64::from(*is_seen), "{name}: {}", daemon.status());
            }
        }
    }
    assert!(daemon.is_running());
    assert_eq!((daemon.count("/lost"), daemon.count("/engine/agents/panics")), (0, 0));
}

pub fn frames_of_every_kind_arrive_unchanged_through_a_passive_daemon() {
    let _alone = alone();
    let wires = Wires::new();
    let frames: Vec<_> = [not_for_us(), for_nobody(), for_agents()].into_iter().flatten().collect();
    let is_carried = |frame: &Vec<u8>| wires.carry(true, std::slice::from_ref(frame)) == [frame.clone()];
    let carried: Vec<_> = frames.iter().filter(|(_, frame)| is_carried(frame)).collect();
    assert!(carried.len() + 6 >= frames.len(), "only {carried:?}");
    let mut daemon = Daemon::start_with(&wires.site.gateway, "passive = true\n", "");
    for (name, frame) in carried {
        for upward in [true, false] {
            let came = wires.carry(upward, std::slice::from_ref(frame));
            assert_eq!(came, std::slice::from_ref(frame), "{name}");
        }
    }
    assert!(daemon.is_running());
    assert_eq!(daemon.count("/engine/counters/received"), 0, "none comes to it");
    soon(|| if daemon.received() > 0 { Ok(()) } else { Err("it hears of those that are TCP".into()) });
}

pub fn garbage_arrives_unchanged_and_the_daemon_lives() {
    let _alone = alone();
    for top in ["", "passive = true\n"] {
        garbage(top);
    }
}

/// Whole frames of garbage, and good ones with some octets changed.
fn garbage(top: &str) {
    let wires = Wires::new();
    let mut daemon = Daemon::start_with(&wires.site.gateway, top, "");
    let mut state = 1997_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let good: Vec<Vec<u8>> =
        [not_for_us(), for_nobody(), for_agents()].into_iter().flat_map(BTreeMap::into_values).collect();
    let frames: Vec<Vec<u8>> = (0..4_000_usize)
        .map(|number| {
            let mut frame = good[draw(good.len())].clone();
            for _ in 0..=draw(6) {
                // The addresses are the bridge's business.
                let at = 12 + draw(frame.len().min(90) - 12);
                frame[at] = draw(256) as u8;
            }
            if draw(4) == 0 {
                frame.truncate(60 + draw(frame.len().max(61) - 60));
            }
            // No frame is another's twin.
            frame.resize(frame.len().max(60), 0);
            let end = frame.len() - 2;
            frame[end..].copy_from_slice(&(number as u16).to_be_bytes());
            frame
        })
        .collect();
    let kinds_of_the_bridge = |frame: &Vec<u8>| {
        // VLAN tags are taken out of the octets on their way, and slow protocols end at the bridge.
        let kind = u16::from_be_bytes([frame[12], frame[13]]);
        ![0x8100, 0x88a8, 0x8809].contains(&kind)
    };
    let frames: Vec<Vec<u8>> = frames.into_iter().filter(kinds_of_the_bridge).collect();
    let (sent, mut came) = (frames.clone(), wires.carry(true, &frames));
    let before = came.len();
    came.sort();
    let missing: Vec<&Vec<u8>> = sent.iter().filter(|frame| came.binary_search(frame).is_err()).collect();
    eprintln!(
        "{} of {before} frames of garbage did not come; the daemon saw {}",
        missing.len(),
        daemon.received()
    );
    let plain = |frame: &&&Vec<u8>| !(frame[12] == 8 && frame[13] == 0);
    assert!(missing.iter().filter(plain).count() == 0, "{missing:x?}");
    assert!(missing.is_empty(), "{missing:x?}");
    daemon.sees_more_than(100);
    assert!(daemon.is_running(), "{}", daemon.log());
    assert_eq!(daemon.count("/engine/agents/panics"), 0);
    soon(|| if daemon.count("/engine/held") == 0 { Ok(()) } else { Err("it holds some".into()) });
}
