//! The meaning of valid files.

use std::time::Duration;

use lasthop_packet::{Bitrate, Probability};
use lasthop_sim::{Arq, Capacity, Feedback, Loss, Opening, QueueLimit};
use lasthop_tcp::{AckPolicy, Config, Congestion, PacingRule, RackConfig, Recovery, RtoRule, SlowStart};

use super::{GOOD, read};
use crate::model::{Link, Measure};

fn good(text: &str) -> crate::Scenario {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn missing_keys_have_their_defaults() {
    let scenario = good(GOOD);
    assert_eq!(scenario.name, "x");
    assert_eq!(scenario.duration, Duration::from_secs(600));
    assert!(scenario.stop_when_done);
    assert_eq!(scenario.seeds, [1, 2]);
    assert_eq!(scenario.baseline, 0);
    assert!(scenario.measure.is_empty());
    let flow = &scenario.flows[0];
    let tcp = flow.tcp().expect("the default");
    assert_eq!((flow.size(), tcp.opening), (None, Opening::Handshake));
    assert_eq!(tcp.sender.window, 65_536);
    assert_eq!(Config { window: 65_535, ..tcp.sender.clone() }, Config::default());
    let Link::Wired(wire) = &scenario.links[0].link else { panic!("the first link is wired") };
    assert_eq!(wire.forward.queue, QueueLimit::Packets(100).into());
}

#[test]
fn nodes_links_and_flows_keep_the_order_of_the_file() {
    let names: Vec<String> = good(GOOD).nodes.into_iter().map(|node| node.name).collect();
    assert_eq!(names, ["server", "ap", "phone"]);
}

#[test]
fn a_direction_has_its_own_settings_or_else_those_of_the_link() {
    let text = GOOD.replace(
        "rate = \"2 Mbit/s\"",
        "rate = \"2 Mbit/s\"\nqueue = \"9 packets\"\nloss = \"1%\"\nforward.loss = \"2%\"\nbackward = { rate = \"1 Mbit/s\", queue = \"unlimited\" }",
    );
    let scenario = good(&text);
    let Link::Wireless { config, .. } = &scenario.links[1].link else {
        panic!("the second link is wireless")
    };
    let rate = |capacity: &Capacity| match capacity {
        Capacity::Fixed(rate) => *rate,
        Capacity::Trace(_) | Capacity::Stalled => panic!("the rate is fixed"),
    };
    assert_eq!(rate(&config.forward.capacity), Bitrate::mbps(2));
    assert_eq!(rate(&config.backward.capacity), Bitrate::mbps(1));
    assert_eq!(config.forward.queue, QueueLimit::Packets(9).into());
    assert_eq!(config.backward.queue, QueueLimit::Unlimited.into());
    let independent = |share| Loss::from(Probability::new(share).expect("a probability"));
    assert_eq!([&config.forward.loss, &config.backward.loss], [&independent(0.02), &independent(0.01)]);
}

#[test]
fn the_default_ack_timeout_of_stop_and_wait_is_that_of_the_thesis() {
    let timeout = |text: &str| {
        let scenario = good(text);
        let Link::Wireless { config, .. } = &scenario.links[1].link else { panic!("it is wireless") };
        assert_eq!(config.link_layer.retransmission_attempts, 8);
        match config.link_layer.feedback {
            Feedback::Acknowledged { timeout, ack_octets, arq: Arq::StopAndWait } => (timeout, ack_octets),
            other => panic!("{other:?}"),
        }
    };
    let thesis =
        GOOD.replace("rate = \"2 Mbit/s\"", "rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nclock = \"1 ms\"");
    assert_eq!(timeout(&thesis), (Duration::from_millis(3), 14));
    let exact = GOOD.replace("rate = \"2 Mbit/s\"", "rate = \"2 Mbit/s\"\ndelay = \"1 ms\"");
    assert_eq!(timeout(&exact), (Duration::from_micros(3056), 14));
}

#[test]
fn the_tcp_settings_of_a_flow_override_those_of_all() {
    let text = format!(
        "measure = [\"rtt\", \"queue\"]\n{GOOD}segment = \"1000 B\"\n[flows.download.tcp]\nwindow = \"42 segments\"\nacks = \"delayed\"\ncongestion = \"reno-abc\"\nrecovery = \"newreno\"\nlimited-transmit = true\n"
    );
    let scenario = good(&text);
    let flow = scenario.flows[0].tcp().expect("the default");
    assert_eq!((flow.sender.mss, flow.sender.window), (1000, 42_000));
    assert_eq!(flow.receiver.ack_policy, AckPolicy::Delayed(Duration::from_millis(200)));
    assert_eq!((flow.sender.congestion, flow.sender.recovery), (Congestion::RenoAbc, Recovery::NewReno));
    assert!(flow.sender.limited_transmit);
    assert_eq!(scenario.measure, [Measure::Rtt, Measure::Queue]);
}

#[test]
fn every_flavour_of_tcp_has_a_name() {
    let tcp = |settings: &str| {
        let flow = good(&format!("{GOOD}[flows.download.tcp]\n{settings}\n")).flows.remove(0);
        let tcp = flow.tcp().expect("the default");
        (tcp.sender.clone(), tcp.receiver.clone())
    };
    let names = ["reno", "reno-abc", "vegas", "westwood", "cubic", "cubic-linux", "bbr", "bbr3"];
    for (name, congestion) in names.into_iter().zip(Congestion::ALL) {
        let recovery = if congestion.goes_by_model() { "recovery = \"rack\"" } else { "" };
        assert_eq!(tcp(&format!("congestion = \"{name}\"\n{recovery}")).0.congestion, congestion);
    }
    assert_eq!(tcp("pacing = \"fq\"").0.pacing, PacingRule::Fq);
    for (name, recovery) in ["tahoe", "reno", "newreno", "sack", "rack"].into_iter().zip(Recovery::ALL) {
        let (sender, receiver) = tcp(&format!("recovery = \"{name}\""));
        assert_eq!((sender.recovery, sender.sack), (recovery, name.ends_with("ack")));
        assert_eq!(receiver.sack, sender.sack, "a receiver reports where the sender goes by it");
    }
    for (name, slow_start) in ["standard", "hystart", "hystart++"].into_iter().zip(SlowStart::ALL) {
        assert_eq!(tcp(&format!("slow-start = \"{name}\"")).0.slow_start, slow_start);
    }
    let (linux, _) = tcp("preset = \"linux\"");
    assert_eq!(linux, Config { window: linux.window, window_max: None, ..Config::linux() });
    let (linux_reno, _) = tcp("preset = \"linux\"\ncongestion = \"reno\"");
    let reno = (Congestion::RenoAbc, SlowStart::Standard, linux.recovery);
    assert_eq!((linux_reno.congestion, linux_reno.slow_start, linux_reno.recovery), reno);
    let parts = "recovery = \"rack\"\nf-rto = false\nundo = false";
    let rack = RackConfig { f_rto: false, undo: false, ..RackConfig::ALL };
    assert_eq!(tcp(parts).0.recovery, Recovery::Rack(rack));
    let limited = "congestion = \"cubic\"\nslow-start-limit = \"2 segments\"";
    assert_eq!(tcp(limited).0.slow_start_limit, Some(2));
    assert_eq!(tcp("rto-rule = \"linux\"").0.rto.rule, RtoRule::Linux);
    let dynamic = |millis| AckPolicy::DynDelAck(Duration::from_millis(millis));
    assert_eq!(tcp("acks = \"dyndelack\"").1.ack_policy, dynamic(100));
    assert_eq!(tcp("acks = \"dyndelack\"\nack-delay = \"40 ms\"").1.ack_policy, dynamic(40));
}

#[test]
fn the_linux_receiver_can_be_set_key_by_key() {
    let tcp = |all: &str, own: &str| {
        let all = GOOD.replace("window = \"64 KiB\"", all);
        let flow = good(&format!("{all}\n[flows.download.tcp]\n{own}\n")).flows.remove(0);
        flow.tcp().expect("the default").receiver.clone()
    };
    let windows = |all, own| {
        let tcp = tcp(all, own);
        (tcp.window, tcp.window_max, tcp.send_window)
    };
    let auto = "window = \"auto\"";
    assert_eq!(windows(auto, ""), (65_535, Some(3840 << 10), None));
    assert_eq!(windows(auto, "window-max = \"1 MiB\""), (65_535, Some(1 << 20), None));
    assert_eq!(windows("window = \"auto\"\nwindow-max = \"1 MiB\"", auto), (65_535, Some(1 << 20), None));
    let replaced = windows("window = \"auto\"\nwindow-max = \"1 MiB\"", "window = \"8 KiB\"");
    assert_eq!(replaced, (8192, None, None), "its window-max goes with a window that is replaced");
    assert_eq!(windows("", "send-window = \"2 segments\""), (65_535, None, Some(2920)));
    assert_eq!(windows("send-window = \"8 KiB\"", "send-window = \"unlimited\""), (65_535, None, None));
    let receiver = tcp("sack = true", "acks = \"linux\"\ndsack = true\nack-compression = true");
    assert_eq!(receiver.ack_policy, AckPolicy::Linux);
    assert!(receiver.dsack && receiver.ack_compression);
    let receiver = tcp("", "");
    assert!(!receiver.dsack && !receiver.ack_compression && receiver.window_max.is_none());
}

#[test]
fn rows_have_labels_and_are_compared_with_the_baseline() {
    let scenario = good(&GOOD.replace("seeds = 2", "seeds = [7, 3]\nbaseline = \"s\""));
    let labels: Vec<&str> = scenario.schemes.iter().map(|scheme| scheme.label.as_str()).collect();
    assert_eq!(labels, ["none", "s"]);
    assert_eq!(scenario.baseline, 1);
    assert_eq!(scenario.seeds, [7, 3]);
}
