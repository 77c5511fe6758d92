//! FINs and resets.

use lasthop_agent::{Obligation, Side};
use lasthop_packet::TcpFlags;

use super::super::bench::{Bench, Step, fixed, mobile};
use crate::edits::But as _;

/// Whether the fixed host has an ACK of all data up to this number.
fn acknowledges(steps: &[Step], to: Side, number: u32) -> bool {
    steps
        .iter()
        .flat_map(|step| &step.sent)
        .filter(|(side, packet)| *side == to && packet.tcp().is_some_and(|tcp| !tcp.flags.has(TcpFlags::RST)))
        .any(|(_, packet)| packet.tcp().is_some_and(|tcp| !tcp.ack.before(lasthop_packet::Seq(number))))
}

#[test]
fn a_fin_is_acknowledged_only_when_the_other_end_has_acknowledged_it() {
    let mut bench = Bench::split();
    let fin = fixed(1001, 500, 5001).flags(TcpFlags::FIN);
    let steps = [bench.core(&fin), bench.wait(1000)];
    assert!(acknowledges(&steps, Side::Core, 1501), "the data is acknowledged");
    assert!(!acknowledges(&steps, Side::Core, 1502), "the FIN is not");
    let steps = [bench.radio(&mobile(5001, 0, 1501)), bench.wait(1000)];
    assert!(!acknowledges(&steps, Side::Core, 1502), "nor when the data has arrived alone");
    let steps = [bench.radio(&mobile(5001, 0, 1502)), bench.wait(1000)];
    assert!(acknowledges(&steps, Side::Core, 1502), "but when it has arrived itself");
}

#[test]
fn the_mobile_hosts_fin_is_acknowledged_only_after_the_fixed_hosts_ack() {
    let mut bench = Bench::split();
    let fin = mobile(5001, 500, 1001).flags(TcpFlags::FIN);
    let steps = [bench.radio(&fin), bench.wait(3000)];
    assert!(acknowledges(&steps, Side::Radio, 5501));
    assert!(!acknowledges(&steps, Side::Radio, 5502));
    let steps = [bench.core(&fixed(1001, 0, 5502)), bench.wait(1000)];
    assert!(acknowledges(&steps, Side::Radio, 5502));
}

#[test]
fn half_a_connection_stays_open() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 0, 5001).flags(TcpFlags::FIN));
    bench.radio(&mobile(5001, 0, 1002));
    let step = bench.radio(&mobile(5001, 700, 1002));
    assert_eq!(step.to(Side::Core).last().map(String::as_str), Some("A 5001+700 ack 1002"));
    bench.core(&fixed(1002, 0, 5701));
    assert_eq!(bench.obligation(), Obligation::Free);
}

#[test]
fn a_reset_follows_the_data_that_was_acknowledged_before_it() {
    let mut bench = Bench::split();
    let step = bench.core(&fixed(1001, 500, 5001));
    assert_eq!(step.to(Side::Radio), ["A 1001+500 ack 5001"]);
    let reset = fixed(1501, 0, 5001).flags(TcpFlags::RST);
    assert!(bench.core(&reset).to(Side::Radio).is_empty(), "the mobile host does not have all");
    let step = bench.radio(&mobile(5001, 0, 1501));
    assert_eq!(step.to(Side::Radio), ["RA 1501+0 ack 5001"]);
    assert_eq!(bench.obligation(), Obligation::Free);
}

#[test]
fn a_reset_of_an_idle_connection_passes_at_once() {
    let mut bench = Bench::split();
    let step = bench.radio(&mobile(5001, 0, 1001).flags(TcpFlags::RST));
    assert_eq!(step.to(Side::Core).len() + usize::from(step.is_forwarded()), 1, "{step:?}");
}

#[test]
fn a_leg_that_is_given_up_resets_the_other() {
    let mut bench = Bench::split();
    bench.core(&fixed(1001, 500, 5001));
    let step = bench.wait(3_600_000);
    let resets = |side| step.to(side).iter().filter(|line| line.starts_with('R')).count();
    assert_eq!((resets(Side::Core), resets(Side::Radio)), (1, 1));
}

#[test]
fn a_fin_is_not_acknowledged_for_an_end_that_has_reset_the_connection() {
    let mut bench = Bench::split();
    // The mobile host sends, closes, and gives up before all of its data has arrived.
    bench.radio(&mobile(5001, 500, 1001).flags(TcpFlags::FIN));
    let challenge = bench.radio(&mobile(5502, 0, 1001).flags(TcpFlags::RST));
    assert_eq!(challenge.to(Side::Radio), ["A 1001+0 ack 5501"], "its FIN is not known to have arrived");
    bench.radio(&mobile(5501, 0, 0).but(|tcp| tcp.flags = TcpFlags::RST));
    // Data that the fixed host sends now reaches no end.
    let data = bench.core(&fixed(1001, 700, 5001).flags(TcpFlags::FIN));
    let rest = bench.core(&fixed(1702, 0, 5502));
    let later = bench.wait(2000);
    assert!(!acknowledges(&[data, rest, later], Side::Core, 1702), "its stream seems to have ended well");
}
