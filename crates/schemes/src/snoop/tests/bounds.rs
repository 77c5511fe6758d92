//! Packets that are not touched, bounds, and the reading of settings.

use lasthop_agent::Accounts as _;
use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::segment_cache::Cached;
use lasthop_config::preset::Presets as _;

use super::*;

#[test]
fn uploads_and_other_protocols_create_no_state() {
    let mut bench = Bench::new();
    for seq in 0..3 {
        assert!(bench.radio(&data(seq * 100, 100)).passed());
        assert!(bench.core(&ack(100)).passed());
    }
    let udp = Transport::Udp(Udp { source_port: 53, destination_port: 53 });
    for transport in [udp, Transport::Opaque { protocol: 50 }] {
        bench.core(&Packet::new(Ip::new(SERVER, MOBILE), transport, Payload::EMPTY));
    }
    assert!(bench.snoop.flows.is_empty());
    assert_eq!((bench.snoop.deadline(), bench.snoop.held()), (None, 0));
}

#[test]
fn urgent_data_and_unknown_options_are_not_cached_and_their_duplicates_pass() {
    for packet in [data(100, 100).flags(TcpFlags::URG), data(100, 100).unknown_option()] {
        let mut bench = Bench::new();
        bench.burst(0, 1);
        bench.core(&packet);
        bench.burst(200, 4);
        bench.radio(&ack(100));
        assert_eq!(bench.cached(), [200, 300, 400, 500]);
        assert!(bench.two_duplicates(&ack(100)).passed());
    }
}

#[test]
fn an_ipv6_connection_is_served() {
    let (server, mobile) = (IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    let v6 = |packet: Packet, ip| Packet::new(ip, packet.transport().clone(), packet.payload().clone());
    let mut bench = Bench::new();
    for seq in 0..6 {
        bench.core(&v6(data(seq * 100, 100), Ip::new(server, mobile)));
    }
    let duplicate = v6(ack(100), Ip::new(mobile, server));
    bench.radio(&duplicate);
    assert_eq!(bench.two_duplicates(&duplicate).repaired(), Some((100, 100)));
}

#[test]
fn packets_pass_at_every_bound_with_a_report() {
    let defaults = Settings::published;
    let budget = Budget::default();
    // A cache makes room for four packets at once, and each lies in a buffer of 320 octets.
    let for_two = 4 * size_of::<Cached<crate::snoop::flow::Notes>>() + 2 * 320;
    let tables = {
        let mut bench = Bench::<Published>::within(defaults(), budget);
        bench.burst(0, 1);
        bench.snoop.octets() - bench.flow().map_or(0, SnoopFlow::allocated)
    };
    let bounds = [
        (Settings { cached_packets: 2, ..defaults() }, budget, "cached packets of a connection"),
        (Settings { cached_octets: 300, ..defaults() }, budget, "cached octets of a connection"),
        (defaults(), Budget { octets_per_flow: for_two, ..budget }, "memory of a connection"),
        (defaults(), Budget { octets_in_all: tables + for_two, ..budget }, "memory in all"),
    ];
    for (settings, budget, bound) in bounds {
        let mut bench = Bench::<Published>::within(settings, budget);
        bench.burst(0, 2);
        assert_eq!(bench.core(&data(200, 100)).reports, [Report::new(&AT_BOUND).which(bound)]);
        assert_eq!(bench.cached(), [0, 100]);
        // A sender's retransmission needs no room and is still detected.
        bench.core(&data(0, 100));
        bench.radio(&ack(0));
        for _ in 0..4 {
            assert!(bench.radio(&ack(0)).passed());
        }
        bench.radio(&ack(200));
        assert!(
            bench.two_duplicates(&ack(200)).passed(),
            "{bound}: what is not cached is the sender's to repair"
        );
        bench.burst(300, 1);
        assert_eq!(bench.cached(), [300], "{bound}: there is room again");
    }
}

#[test]
fn a_hundred_packets_of_a_connection_are_cached_by_default() {
    let mut bench = Bench::new();
    bench.burst(0, 120);
    assert_eq!(bench.cached().len(), 100);
}

#[test]
fn new_flows_pass_while_the_table_is_full_of_active_ones() {
    let other = |packet: Packet| packet.but(|tcp| tcp.source_port = 81);
    let mut bench =
        Bench::<Published>::within(Settings::published(), Budget { flows: 1, ..Budget::default() });
    bench.burst(0, 1);
    assert_eq!(bench.core(&other(data(0, 100))).reports, [Report::new(&AT_BOUND).which("connections")]);
    assert_eq!(bench.cached(), [0]);
    assert!(bench.wait(10_000).core(&other(data(0, 100))).reports.is_empty());
    assert_eq!((bench.cached().len(), bench.snoop.flows.len()), (0, 1));
    assert_eq!(pieces(&bench.wait(LONG).timer()).len(), 1, "the timer of the flow that made room is gone");
}

#[test]
fn settings_have_units_and_unknown_keys_are_rejected() {
    let read = |text: &str| Settings::read(toml::from_str(text).expect("well formed"));
    let expected =
        Settings { cached_packets: 7, minimum_timeout: Duration::from_millis(40), ..Settings::default() };
    assert_eq!(read("cached-packets = 7\nminimum-timeout = \"40 ms\""), Ok(expected));
    assert!(read("cached-packet = 7").is_err());
    assert!(read("minimum-timeout = 40").is_err());
    let schema = serde_json::to_value(schemars::schema_for!(Settings)).expect("a schema is JSON");
    assert_eq!(schema["properties"]["minimum-timeout"]["default"], "20 ms");
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn a_preset_supplies_the_settings_that_are_not_given() {
    let read = |text: &str| Settings::read(toml::from_str(text).expect("well formed"));
    assert_eq!(read(""), Ok(Settings::default()));
    assert_eq!(read("preset = \"published\""), Ok(Settings::published()));
    let expected = Settings { cached_packets: 7, ..Settings::published() };
    assert_eq!(read("preset = \"published\"\ncached-packets = 7"), Ok(expected));
    assert!(read("preset = \"tomorrow\"").is_err() && read("preset = \"published\"\nx = 1").is_err());
}
