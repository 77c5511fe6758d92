//! LLE-TCP from end to end: the delivered data, and the packets on the air for them.

mod on_air;

use std::path::Path;

use lasthop_agent::counter::{ACKNOWLEDGED_AND_LOST, ACKS_GENERATED, ACKS_SUPPRESSED, LOCAL_RETRANSMITS};
use lasthop_scenario::{Overrides, Scenario, file};

use on_air::Run;

fn scenario(settings: &[&str]) -> Scenario {
    on_air::scenario("lle-tcp.toml", settings)
}

const PHONE: usize = 2;
const ACCESS_POINT: usize = 1;

#[test]
fn a_download_arrives_sooner_and_the_phone_sends_far_less() {
    let scenario = scenario(&[]);
    let plain = Run::new(&scenario, "none", "");
    plain.assert_everything_arrived();
    for (settings, at_most) in [("", 10), ("preset = \"published\"", 50)] {
        let lle = Run::new(&scenario, "lle-tcp", settings);
        lle.assert_everything_arrived();
        assert!(lle.air[PHONE] * at_most.min(5) < plain.air[PHONE], "{:?} {:?}", lle.air, plain.air);
        assert!(lle.seconds() < plain.seconds(), "{} {}", lle.seconds(), plain.seconds());
        assert!(lle.reported.get(&ACKS_GENERATED) > 1000 && lle.reported.get(&ACKNOWLEDGED_AND_LOST) == 0);
    }
}

#[test]
fn an_upload_to_the_other_end_of_the_hop_is_acknowledged_at_the_sender() {
    let direct = ["flows.download.from=phone", "flows.download.to=server", "links.internet.loss=0%"];
    let mut scenario = scenario(&direct);
    // An ad hoc network (figure 3.1a): the phone's hop ends at the receiver.
    let server = 0;
    let air = scenario.links.remove(1);
    scenario.links[0] = air;
    scenario.links[0].ends = (server, PHONE);
    let plain = Run::new(&scenario, "none", "");
    let lle = Run::new(&scenario, "lle-tcp", "");
    plain.assert_everything_arrived();
    lle.assert_everything_arrived();
    assert!(lle.air[server] * 5 < plain.air[server], "{:?} {:?}", lle.air, plain.air);
    assert!(lle.seconds() < plain.seconds());
}

#[test]
fn an_upload_through_an_access_point_is_plain_tcp() {
    let scenario = scenario(&["flows.download.from=phone", "flows.download.to=server"]);
    let plain = Run::new(&scenario, "none", "");
    let lle = Run::new(&scenario, "lle-tcp", "");
    lle.assert_everything_arrived();
    // Agents acknowledge no data, but may generate an ACK such as the third of the handshake.
    assert!(lle.reported.get(&ACKS_GENERATED) <= 2, "{:?}", lle.reported);
    assert_eq!(plain.flows[0].octets, lle.flows[0].octets);
    assert!(lle.air[ACCESS_POINT] + 2 >= plain.air[ACCESS_POINT]);
}

#[test]
fn an_upload_under_lle_tcp_cc_arrives_though_the_wire_loses_packets() {
    let settings = ["flows.download.from=phone", "flows.download.to=server", "links.internet.loss=1%"];
    let run = Run::new(&scenario(&settings), "lle-tcp", "sender-buffer = \"64 KiB\"");
    run.assert_everything_arrived();
    assert!(
        run.reported.get(&ACKS_GENERATED) > 1000 && run.reported.get(&LOCAL_RETRANSMITS) > 10,
        "{:?}",
        run.reported
    );
}

#[test]
fn data_in_both_directions_arrives() {
    let mut scenario = scenario(&[]);
    let mut upload = scenario.flows[0].clone();
    (upload.name, upload.from, upload.to) = ("upload".to_owned(), upload.to, upload.from);
    scenario.flows.push(upload);
    for settings in ["", "preset = \"published\"", "sender-buffer = \"64 KiB\""] {
        Run::new(&scenario, "lle-tcp", settings).assert_everything_arrived();
    }
}

#[test]
fn without_an_agent_at_the_phone_it_is_plain_tcp() {
    let mut scenario = scenario(&[]);
    scenario.nodes[PHONE].role = Some(lasthop_schemes::Role::FixedHost);
    let (plain, lle) = (Run::new(&scenario, "none", ""), Run::new(&scenario, "lle-tcp", ""));
    lle.assert_everything_arrived();
    assert_eq!((plain.air, plain.counters.frames_lost), (lle.air, lle.counters.frames_lost));
    assert_eq!((lle.reported.get(&ACKS_GENERATED), lle.reported.get(&ACKS_SUPPRESSED)), (0, 0));
}

#[test]
fn without_an_agent_at_the_access_point_it_is_plain_tcp() {
    let mut scenario = scenario(&[]);
    scenario.nodes[ACCESS_POINT].role = Some(lasthop_schemes::Role::FixedHost);
    let (plain, lle) = (Run::new(&scenario, "none", ""), Run::new(&scenario, "lle-tcp", ""));
    lle.assert_everything_arrived();
    assert_eq!(plain.air, lle.air);
    assert_eq!((lle.reported.get(&ACKS_GENERATED), lle.reported.get(&ACKS_SUPPRESSED)), (0, 0));
}

/// A string of three wireless hops (figure 3.6), from a host at one end to a host at the other.
const STRING: &str = r#"
duration = "120 s"
[nodes.source]
kind = "host"
[nodes.first]
kind = "router"
[nodes.last]
kind = "router"
[nodes.sink]
kind = "host"
[links.one]
kind = "wireless"
between = ["source", "first"]
rate = "11 Mbit/s"
delay = "0.01 ms"
loss = "5%"
link-layer = { kind = "stop-and-wait", retransmission-attempts = 4 }
cell = "string"
[links.two]
kind = "wireless"
between = ["first", "last"]
rate = "11 Mbit/s"
delay = "0.01 ms"
loss = "5%"
link-layer = { kind = "stop-and-wait", retransmission-attempts = 4 }
cell = "string"
[links.three]
kind = "wireless"
between = ["last", "sink"]
rate = "11 Mbit/s"
delay = "0.01 ms"
loss = "5%"
link-layer = { kind = "stop-and-wait", retransmission-attempts = 4 }
cell = "string"
[flows.transfer]
from = "source"
to = "sink"
size = "3 MB"
"#;

#[test]
fn in_a_string_of_hops_the_last_hop_router_and_optionally_the_sender_acknowledge() {
    let scenario = file::parse(STRING, "string.toml", Path::new("."), &Overrides::default());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let [plain, lle, controlled] = [("none", ""), ("lle-tcp", ""), ("lle-tcp", "sender-buffer = \"32 KiB\"")]
        .map(|(name, settings)| {
            let run = Run::new(&scenario, name, settings);
            run.assert_everything_arrived();
            run
        });
    let (last, sink) = (2, 3);
    // The last-hop router sends the ACKs instead of the sink, which saves one hop.
    assert!(lle.air[sink] * 5 < plain.air[sink], "{:?} {:?}", lle.air, plain.air);
    assert!(
        lle.air[last] + lle.air[sink] < plain.air[last] + plain.air[sink] + lle.reported.get(&ACKS_GENERATED)
    );
    assert!(lle.reported.get(&ACKS_GENERATED) > 1000);
    // The sender's own agent also acknowledges every segment.
    assert!(
        controlled.reported.get(&ACKS_GENERATED) > 2 * lle.reported.get(&ACKS_GENERATED) - 500,
        "{:?}",
        controlled.counters
    );
}
