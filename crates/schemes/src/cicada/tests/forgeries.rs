//! Forged packets among the genuine ones: as sent by an off-path attacker, and rejected by a
//! connection without an agent (RFC 5961).

use lasthop_agent::{Obligation, Side};
use lasthop_packet::{Ip, Packet, Payload, Rng, SackBlocks, Seq, Tcp, TcpFlags};
use lasthop_tcp::Connection;
use proptest::prelude::*;

use super::bench::{Bench, fixed, mobile};
use super::drawn;
use super::end::End;
use super::world::{KEY, Scene, World};

/// Farther than any window reaches.
const FAR: u32 = 1 << 28;

/// A packet in a sender's name.
pub fn draw(sender: &End, receiver: &End, from: Side, rng: &mut Rng) -> Packet {
    let key = if from == Side::Core { KEY } else { KEY.reversed() };
    let some = rng.below(2000) as u32;
    // After the FIN: no end and no agent expects or sends data there.
    let beyond_fin = |end: &End| end.connection.iss() + end.application.plan.octets as u32 + 3 + some;
    let expected = receiver.connection.next_expected();
    let (old, new) = (expected + (some + 1).wrapping_neg(), beyond_fin(sender));
    let (known, unsent) = (sender.connection.next_expected(), beyond_fin(receiver));
    let seq = match rng.below(4) {
        0 => old,
        1 => new,
        2 => old + FAR.wrapping_neg(),
        _ => new + FAR,
    };
    let ack = match rng.below(4) {
        0 => known,
        1 => known + some.wrapping_neg(),
        2 => unsent,
        _ => unsent + FAR,
    };
    let (flags, seq, len) = match rng.below(8) {
        0 => (TcpFlags::RST, seq, 0),
        1 => (TcpFlags::RST.with(TcpFlags::ACK), seq, 0),
        2 => (TcpFlags::SYN, seq, 0),
        3 => (TcpFlags::SYN.with(TcpFlags::ACK), seq, 0),
        4 => (TcpFlags::FIN.with(TcpFlags::ACK), new + FAR, 0),
        // Data that was received already, or that is far from the window.
        5 => (TcpFlags::ACK.with(TcpFlags::URG), old + 1000u32.wrapping_neg(), 1000),
        6 => (TcpFlags::ACK, new + FAR, 1000),
        _ => (TcpFlags::ACK, expected, 0),
    };
    let mut tcp = Tcp {
        source_port: key.source.1,
        destination_port: key.destination.1,
        seq,
        ack,
        flags,
        window: [0, 1, 1000, 65_535][rng.below(4) as usize],
        urgent_pointer: some as u16,
        ..Tcp::default()
    };
    tcp.options.sack = lies(&receiver.connection, rng);
    tcp.options.unknown = (rng.below(8) == 0).then(|| [30, 4, 0, 0].into());
    Packet::tcp_segment(
        Ip::new(key.source.0, key.destination.0),
        tcp,
        Payload::Stream { stream: 7, offset: 0, len },
    )
}

/// SACK blocks of data that was perhaps sent, and certainly not received.
fn lies(receiver: &Connection, rng: &mut Rng) -> SackBlocks {
    let mut blocks = SackBlocks::NONE;
    for _ in 0..rng.below(4) {
        let left: Seq = receiver.flight().una + rng.below(5000) as u32;
        blocks.push(left, left + rng.below(3000) as u32);
    }
    blocks
}

fn run(scene: Scene, forging: f64) -> Result<(), TestCaseError> {
    let mut world = World::new(&Scene { forging, ..scene });
    for seat in &mut world.seats {
        seat.receives_forgeries = true;
    }
    let outcome = world.run()?;
    world.check_all_is_well(outcome)
}

// Each forged packet may cause another genuine one, and each that arrives another forged one: the
// probabilities are such that this ends.
proptest! {
    #![proptest_config(super::cases(128))]

    #[test]
    fn a_connection_without_an_agent_resists_forgeries(scene in drawn::scene(0), forging in 0.0..0.12f64) {
        run(scene, forging)?;
    }

    #[test]
    fn a_split_connection_resists_forgeries(scene in drawn::scene(1), forging in 0.0..0.12f64) {
        run(scene, forging)?;
    }

    #[test]
    fn two_agents_in_a_row_resist_forgeries(scene in drawn::scene(2), forging in 0.0..0.12f64) {
        run(scene, forging)?;
    }
}

#[test]
fn data_that_is_far_from_the_window_acknowledges_nothing() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    assert_eq!(bench.obligation(), Obligation::Owes(500));
    bench.radio(&mobile(5001u32.wrapping_sub(1 << 30), 1, 1501));
    assert_eq!(bench.obligation(), Obligation::Owes(500));
}
