//! An agent's reported memory, compared with its allocations.

use lasthop_agent::Accounts;
use lasthop_packet::{Packet, Payload};

use super::bench::{Bench, fixed};

/// Memory that does not grow: the legs themselves, and tables.
const FIXED_STATE: usize = 64 << 10;

/// With real octets, as from a port: one octet in a frame's buffer.
fn with_octets(mut packet: Packet) -> Packet {
    let octets = vec![7; packet.payload().len()];
    packet.set_payload(Payload::Bytes(octets.into()));
    packet
}

/// The allocated memory and the reported one, after these segments of the fixed host.
fn after(segments: impl Iterator<Item = (u32, u32)>) -> (usize, usize) {
    let mut bench = Bench::split();
    let allocated = allocation_counter::measure(|| {
        for (offset, len) in segments {
            bench.core(&with_octets(fixed(1001 + offset, len, 5001)));
        }
    });
    let reported = bench.seat.agent.as_ref().map_or(0, Accounts::octets);
    (allocated.bytes_current.max(0) as usize, reported)
}

#[test]
fn full_segments_cost_about_the_reported_memory() {
    let (allocated, reported) = after((0..40).map(|number| (1460 * number, 1460)));
    assert!(allocated <= 2 * reported + FIXED_STATE, "{allocated} octets allocated, {reported} reported");
}

#[test]
fn one_octet_segments_in_order_cost_at_most_the_reported_memory() {
    let (allocated, reported) = after((0..20_000).map(|number| (number, 1)));
    assert!(allocated <= reported + FIXED_STATE, "{allocated} octets allocated, {reported} reported");
}

#[test]
fn every_other_octet_costs_at_most_the_reported_memory() {
    let (allocated, reported) = after((0..10_000).map(|number| (2 * number + 1, 1)));
    assert!(allocated <= reported + FIXED_STATE, "{allocated} octets allocated, {reported} reported");
}

#[test]
fn every_other_octet_keeps_no_uncounted_frames() {
    // Each octet in the buffer of its own frame.
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
    let reported = bench.seat.agent.as_ref().map_or(0, Accounts::octets);
    let allocated = allocated.bytes_current.max(0) as usize;
    assert!(allocated <= reported + FIXED_STATE, "{allocated} octets allocated, {reported} reported");
}
