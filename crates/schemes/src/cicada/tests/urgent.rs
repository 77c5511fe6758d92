//! Urgent data keeps its place in the stream.

use lasthop_agent::Side;
use lasthop_packet::{Packet, TcpFlags};

use super::bench::{Bench, Step, fixed, mobile};
use crate::edits::But as _;

/// A segment whose urgent data ends this many octets after its number.
fn urgent(packet: Packet, pointer: u16) -> Packet {
    packet.but(|tcp| {
        tcp.flags = tcp.flags.with(TcpFlags::URG);
        tcp.urgent_pointer = pointer;
    })
}

/// The data sent to a side: where each segment begins and ends, and where its urgent data ends.
fn marks(steps: &[Step], to: Side) -> Vec<(u32, u32, Option<u32>)> {
    let sent = steps.iter().flat_map(|step| &step.sent);
    let segment = |packet: &Packet| {
        let tcp = packet.tcp()?;
        let end = tcp.flags.has(TcpFlags::URG).then(|| tcp.seq.0 + u32::from(tcp.urgent_pointer));
        Some((tcp.seq.0, tcp.seq.0 + packet.payload().len() as u32, end))
    };
    let data = sent.filter(|(side, packet)| *side == to && !packet.payload().is_empty());
    data.filter_map(|(_, packet)| segment(packet)).collect()
}

#[test]
fn urgent_data_is_marked_in_both_directions() {
    let mut bench = Bench::split();
    let down = [bench.core(&fixed(1001, 1000, 5001)), bench.core(&urgent(fixed(2001, 1, 5001), 1))];
    let rest = [bench.core(&fixed(2002, 4, 5001))];
    assert_eq!(marks(&down, Side::Radio), [(1001, 2001, None), (2001, 2002, Some(2002))]);
    assert_eq!(marks(&rest, Side::Radio), [(2002, 2006, None)]);
    let up = [bench.radio(&urgent(mobile(5001, 10, 2006), 4)), bench.radio(&mobile(5011, 10, 2006))];
    assert_eq!(marks(&up, Side::Core), [(5001, 5005, Some(5005)), (5005, 5011, None), (5011, 5021, None)]);
}

/// Waiting data is merged. Each mark has a segment that points to it.
#[test]
fn no_urgent_mark_is_lost_when_waiting_data_is_merged() {
    let mut bench = Bench::split();
    bench.radio(&mobile(5001, 0, 1001).but(|tcp| tcp.window = 0));
    for packet in [
        fixed(1001, 500, 5001),
        urgent(fixed(1501, 1, 5001), 1),
        fixed(1502, 100, 5001),
        urgent(fixed(1602, 1, 5001), 1),
        fixed(1603, 100, 5001),
    ] {
        assert_eq!(marks(&[bench.core(&packet)], Side::Radio), []);
    }
    let opened = [bench.radio(&mobile(5001, 0, 1001))];
    let expected = [(1001, 1502, Some(1502)), (1502, 1603, Some(1603)), (1603, 1703, None)];
    assert_eq!(marks(&opened, Side::Radio), expected);
}

#[test]
fn a_copy_keeps_its_urgent_mark() {
    let mut bench = Bench::split();
    let sent = [bench.core(&fixed(1001, 100, 5001)), bench.core(&urgent(fixed(1101, 1, 5001), 1))];
    assert_eq!(marks(&sent, Side::Radio).len(), 2);
    bench.radio(&mobile(5001, 0, 1101));
    let copies = [bench.wait(2000)];
    let copies = marks(&copies, Side::Radio);
    assert!(!copies.is_empty() && copies.iter().all(|copy| *copy == (1101, 1102, Some(1102))), "{copies:?}");
}

/// A sender announces urgent data as soon as it has some, even if it may not send any of it yet.
#[test]
fn urgent_data_is_announced_before_it_is_sent() {
    let mut bench = Bench::split();
    bench.radio(&mobile(5001, 0, 1001).but(|tcp| tcp.window = 0));
    bench.core(&fixed(1001, 100, 5001));
    bench.core(&urgent(fixed(1101, 0, 5001), 2000));
    let probes = marks(&[bench.wait(5000)], Side::Radio);
    assert!(probes.contains(&(1001, 1002, Some(3101))), "{probes:?}");
}

#[test]
fn a_moving_urgent_pointer_costs_no_memory() {
    let mut bench = Bench::split();
    bench.radio(&mobile(5001, 0, 1001).but(|tcp| tcp.window = 0));
    let mut taken = Vec::new();
    for pointer in 1..60_000 {
        bench.core(&urgent(fixed(1001, 0, 5001), pointer));
        taken.push(bench.seat.agent.as_ref().map(lasthop_agent::Accounts::octets));
    }
    taken.dedup();
    assert!(taken.len() <= 2, "the first has room for some more: {taken:?}");
    bench.core(&fixed(1001, 100, 5001));
    let opened = marks(&[bench.radio(&mobile(5001, 0, 1001))], Side::Radio);
    assert!(opened.len() <= 9, "{}", opened.len());
}
