//! The beginning and the end of a connection's state, its bounds, and its transfer to another
//! agent.

use super::*;

#[test]
fn state_begins_with_data_and_ends_with_a_syn_a_reset_or_its_acknowledged_fin() {
    let syn = |tcp: &mut Tcp| tcp.flags = TcpFlags::SYN;
    let reset = |tcp: &mut Tcp| tcp.flags = TcpFlags::RST;
    for end in [data(1).but(syn), data(1).but(reset), ack(1).but(reset)] {
        let mut bench = Bench::new();
        bench.send(&data(0));
        assert_eq!(bench.wtcp.flows.len(), 1);
        let from = if end.ip().source == SERVER { Side::Core } else { Side::Radio };
        let (verdict, _) = bench.call(|wtcp, cx| wtcp.on_packet(&mut end.clone(), from, cx));
        assert_eq!((verdict, bench.wtcp.flows.len()), (Verdict::Forward, 0));
    }
    let mut bench = Bench::new();
    bench.send(&data(0).but(|tcp| tcp.flags = tcp.flags.with(TcpFlags::FIN)));
    bench.wait(4).radio(&ack(1).but(|tcp| tcp.ack += 1));
    assert_eq!((bench.wtcp.flows.len(), bench.wtcp.octets()), (0, 0));
}

#[test]
fn a_connection_without_packets_is_forgotten_with_its_local_recovery() {
    let mut bench = Bench::new();
    bench.send(&data(0));
    bench.wait(4).radio(&ack(1));
    bench.timers_until(400_000);
    assert!(bench.wtcp.flows.is_empty() && bench.wtcp.deadline().is_none());
}

#[test]
fn no_more_connections_are_known_than_the_budget_allows() {
    let mut bench = Bench::new();
    bench.budget = Budget { flows: 2, ..Budget::default() };
    for port in 1..=9 {
        bench.wait(20_000);
        let (verdict, _) = bench.core(&data(0).but(|tcp| tcp.destination_port = port));
        assert_eq!(verdict, Verdict::Forward);
        assert!(bench.wtcp.flows.len() <= 2);
        let keys: Vec<FlowKey> = bench.wtcp.flows.keys().collect();
        assert!(keys.iter().all(|key| bench.wtcp.local.flow(*key).is_some()));
    }
}

#[test]
fn released_and_drained_packets_are_sent() {
    for drains in [true, false] {
        let mut bench = Bench::new();
        for place in 0..40 {
            bench.send(&data(place));
        }
        let held = bench.wtcp.held();
        assert!(held > 0);
        let ((), sent) =
            bench.call(|wtcp, cx| if drains { wtcp.drain(cx) } else { wtcp.release(connection(), cx) });
        assert_eq!((sent.len() as u64, bench.wtcp.held()), (held, 0));
    }
}

#[test]
fn state_moves_under_the_schemes_name_and_duplicates_are_still_dropped() {
    let mut bench = Bench::new();
    for place in 0..40 {
        bench.send(&data(place));
    }
    let held = bench.wtcp.held();
    let (states, sent) = bench.call(|wtcp, cx| wtcp.export(Scope::All, cx));
    assert_eq!((sent.len(), bench.wtcp.held(), bench.wtcp.octets(), bench.wtcp.flows.len()), (0, 0, 0, 0));
    let [state] = &states[..] else { panic!("one connection") };
    assert_eq!(state.scheme, "wtcp");
    bench.wtcp = Wtcp::new(Settings::default());
    let foreign = FlowState { scheme: "snoop".into(), ..state.clone() };
    let refused = Err(ImportError::OtherScheme("snoop".to_owned()));
    assert_eq!(bench.call(|wtcp, cx| wtcp.import(&foreign, cx)).0, refused);
    assert_eq!(bench.call(|wtcp, cx| wtcp.import(state, cx)).0, Ok(()));
    assert_eq!(bench.wtcp.held(), held);
    assert_eq!(bench.core(&data(1)).0, Verdict::Forward, "what the mobile host was told is not known");
    assert_eq!(bench.core(&data(0)).0, Verdict::Drop(&crate::wtcp::buffer::BUFFERED));
}
