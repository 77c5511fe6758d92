//! What an agent says that it holds, held against what it has allocated.

use lasthop_agent::Accounts;
use lasthop_packet::{Packet, Payload};

use super::bench::{Bench, fixed};

/// Beside what grows: the legs themselves, and tables.
const FIXED_STATE: usize = 64 << 10;

/// With octets of its own, as they come from a port: one octet in a frame's buffer.
fn with_octets(mut packet: Packet) -> Packet {
    let octets = vec![7; packet.payload().len()];
    packet.set_payload(Payload::Bytes(octets.into()));
    packet
}

/// What was allocated and what the agent says, after these segments of the fixed host's.
fn after(segments: impl Iterator<Item = (u32, u32)>) -> (usize, usize) {
    let mut bench = Bench::split();
    let allocated = allocation_counter::measure(|| {
        for (offset, len) in segments {
            bench.core(&with_octets(fixed(1001 + offset, len, 5001)));
        }
    });
    let said = bench.seat.agent.as_ref().map_or(0, Accounts::octets);
    (allocated.bytes_current.max(0) as usize, said)
}

#[test]
fn full_segments_cost_about_what_is_said() {
    let (allocated, said) = after((0..40).map(|number| (1460 * number, 1460)));
    assert!(allocated <= 2 * said + FIXED_STATE, "{allocated} octets allocated, {said} said");
}

#[test]
fn segments_of_an_octet_in_order_cost_no_more_than_is_said() {
    let (allocated, said) = after((0..20_000).map(|number| (number, 1)));
    assert!(allocated <= said + FIXED_STATE, "{allocated} octets allocated, {said} said");
}

#[test]
fn every_other_octet_costs_no_more_than_is_said() {
    let (allocated, said) = after((0..10_000).map(|number| (2 * number + 1, 1)));
    assert!(allocated <= said + FIXED_STATE, "{allocated} octets allocated, {said} said");
}

#[test]
fn every_other_octet_keeps_no_frames_that_are_not_counted() {
    // Each octet in the buffer that its frame came in.
    let mut bench = Bench::split();
    let allocated = allocation_counter::measure(|| {
        for number in 0..10_000 {
            let mut packet = fixed(1001 + 2 * number + 1, 1, 5001);
            let frame = Payload::Bytes(vec![7; 2048].into());
            packet.set_payload(frame.slice(54, 55));
            packet.set_buffer(2048);
            bench.core(&packet);
        }
    });
    let said = bench.seat.agent.as_ref().map_or(0, Accounts::octets);
    let allocated = allocated.bytes_current.max(0) as usize;
    assert!(allocated <= said + FIXED_STATE, "{allocated} octets allocated, {said} said");
}
