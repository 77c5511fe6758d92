//! Files with valid keys and an impossible meaning.

use std::fs;
use std::path::{Path, PathBuf};

use super::{GOOD, check};
use crate::file::{Overrides, parse};

#[test]
fn a_link_joins_two_nodes_that_exist() {
    check(&[
        (
            "[\"ap\", \"phone\"]",
            "[\"ap\", \"moon\"]",
            "14: links.air.between",
            "expected one of: ap, phone, server",
        ),
        ("[\"ap\", \"phone\"]", "[\"ap\", \"ap\"]", "14: links.air.between", "to itself"),
        (
            "[\"ap\", \"phone\"]",
            "[\"ap\", \"server\"]",
            "14: links.air.between",
            "link \"wire\" already joins these two",
        ),
    ]);
}

#[test]
fn a_flow_joins_two_hosts_that_are_connected() {
    check(&[
        (
            "from = \"server\"",
            "from = \"ap\"",
            "21: flows.download.from",
            "\"ap\" is a router; expected a host",
        ),
        ("to = \"phone\"", "to = \"nobody\"", "22: flows.download.to", "unknown node \"nobody\""),
        ("to = \"phone\"", "to = \"server\"", "22: flows.download.to", "to itself"),
        (
            "[links.air]\nkind = \"wireless\"\nbetween = [\"ap\", \"phone\"]",
            "[nodes.far]\nkind = \"host\"\n[links.air]\nkind = \"wireless\"\nbetween = [\"ap\", \"far\"]",
            "24: flows.download.to",
            "no route",
        ),
        ("to = \"phone\"", "to = \"phone\"\nsize = \"0 B\"", "23: flows.download.size", "above zero"),
        (
            "to = \"phone\"",
            "to = \"phone\"\nstart = \"2 s\"\nstop = \"1 s\"",
            "24: flows.download.stop",
            "before",
        ),
        ("[flows.download]\nfrom = \"server\"\nto = \"phone\"", "[flows]", "20: flows", "at least one"),
    ]);
}

#[test]
fn schemes_are_listed_once_and_can_work_in_their_places() {
    check(&[
        ("\"none\"", "\"nonesuch\"", "1: schemes[0]", "expected one of: none, snoop"),
        ("label = \"s\"", "cached-packets = -1", "1: schemes[1].cached-packets", "-1"),
        ("label = \"s\"", "cache = 1", "1: schemes[1].cache", "unknown key"),
        ("label = \"s\"", "minimum-timeout = \"5\"", "1: schemes[1].minimum-timeout", "such as \"5 ms\""),
        ("label = \"s\"", "label = \"\"", "1: schemes[1].label", "1 to 64"),
        ("label = \"s\"", "label = \"s, too\"", "1: schemes[1].label", "without commas"),
        ("label = \"s\"", "label = \"none\"", "1: schemes[1]", "another label"),
        (
            "schemes = [\"none\", { scheme = \"snoop\", label = \"s\" }]",
            "schemes = []",
            "1: schemes",
            "1 to 100",
        ),
        ("seeds = 2", "baseline = \"snoop\"", "2: baseline", "expected one of: none, s"),
        ("seeds = 2", "seeds = 0", "2: seeds", "1 to 10000"),
        ("seeds = 2", "seeds = []", "2: seeds", "1 to 10000"),
        ("seeds = 2", "seeds = 9223372036854775807", "2: seeds", "1 to 10000"),
        ("seeds = 2", "seeds = [1, 2, 1]", "2: seeds", "1 is listed twice"),
        ("seeds = 2", "duration = \"0 s\"", "2: duration", "above zero"),
    ]);
    let blind =
        GOOD.replace("link-layer = { kind = \"stop-and-wait\" }", "").replace("\"none\"", "\"refined-icmp\"");
    let error = super::error(&blind);
    assert!(error.starts_with("x.toml:1: schemes[0]: "), "{error}");
    assert!(error.contains("does not report the fate"), "{error}");
}

#[test]
fn keys_of_wireless_links_are_refused_on_wired_ones() {
    let wireless_only = "only with kind = \"wireless\"";
    let wire = "rate = \"10 Mbit/s\"";
    check(&[
        (wire, "rate = \"trace\"", "11: links.wire.rate", wireless_only),
        (wire, "rate = \"1 Mbit/s\"\ncell = \"a\"", "12: links.wire.cell", wireless_only),
        (wire, "rate = \"1 Mbit/s\"\nbackward.trace = \"f\"", "12: links.wire.backward.trace", wireless_only),
        (wire, "rate = \"1 Mbit/s\"\nlink-layer = \"immediate\"", "12: links.wire.link-layer", wireless_only),
    ]);
}

#[test]
fn the_802_11_mac_has_a_table_of_its_own() {
    let rate = "rate = \"2 Mbit/s\"";
    check(&[
        (rate, "rate = \"2 Mbit/s\"\nmac = \"802.11\"\ncell = \"c\"", "16: links.air.mac", "[wlans.NAME]"),
        (rate, "rate = \"2 Mbit/s\"\nmac = \"ideal\"", "16: links.air.mac", "cell = \"NAME\""),
        (rate, "rate = \"2 Mbit/s\"\nmac = \"aloha\"", "16: links.air.mac", "\"ideal\""),
    ]);
}

#[test]
fn endless_runs_impossible_values_and_keys_without_effect_are_refused() {
    check(&[
        (
            "rate = \"2 Mbit/s\"",
            "rate = \"2 Mbit/s\"\nclock = \"1 ms\"",
            "16: links.air.clock",
            "delay above zero",
        ),
        ("bad = { mean = \"1 s\" }", "bad = { mean = \"1 ns\" }", "19: links.air.channel.bad.mean", "10 us"),
        (
            "good = { mean = \"5 s\" }",
            "good = { mean = \"0 s\" }",
            "18: links.air.channel.good.mean",
            "10 us",
        ),
        (
            "{ kind = \"stop-and-wait\" }",
            "{ kind = \"none\", ack-size = \"9 B\" }",
            "16: links.air.link-layer.ack-size",
            "leave it out",
        ),
        (
            "{ kind = \"stop-and-wait\" }",
            "{ kind = \"stop-and-wait\", window = 8 }",
            "16: links.air.link-layer.window",
            "leave it out",
        ),
        (
            "{ kind = \"stop-and-wait\" }",
            "{ kind = \"selective-repeat\", window = 65 }",
            "16: links.air.link-layer.window",
            "1 to 64",
        ),
        // 14 octets at 2 Mbit/s take 56 us.
        (
            "{ kind = \"stop-and-wait\" }",
            "{ kind = \"stop-and-wait\", ack-timeout = \"55 us\" }",
            "16: links.air.link-layer.ack-timeout",
            "56 us",
        ),
        ("window = \"64 KiB\"", "ack-delay = \"1 s\"", "24: tcp.ack-delay", "acks = \"delayed\""),
        (
            "window = \"64 KiB\"",
            "acks = \"linux\"\nack-delay = \"1 s\"",
            "25: tcp.ack-delay",
            "acks = \"delayed\"",
        ),
        ("window = \"64 KiB\"", "window-max = \"1 MiB\"", "24: tcp.window-max", "window = \"auto\""),
        (
            "window = \"64 KiB\"",
            "window = \"auto\"\nwindow-max = \"64 kB\"",
            "25: tcp.window-max",
            "\"65535 B\" to \"1 GiB\"",
        ),
        (
            "window = \"64 KiB\"",
            "preset = \"linux\"\nwindow-max = \"64 kB\"",
            "25: tcp.window-max",
            "\"65535 B\" to \"1 GiB\"",
        ),
        (
            "window = \"64 KiB\"",
            "window = \"auto\"\nwindow-max = \"2 GiB\"",
            "25: tcp.window-max",
            "\"65535 B\" to \"1 GiB\"",
        ),
        (
            "window = \"64 KiB\"",
            "preset = \"linux\"\ncongestion = \"cubic\"\nslow-start-limit = \"unlimited\"",
            "26: tcp.slow-start-limit",
            "\"cubic\" without preset = \"linux\"",
        ),
        ("window = \"64 KiB\"", "congestion = \"bbr\"", "24: tcp.congestion", "recovery = \"rack\""),
        ("window = \"64 KiB\"", "send-window = \"0 B\"", "24: tcp.send-window", "1 GiB"),
        ("window = \"64 KiB\"", "dsack = true", "24: tcp.dsack", "sack = true"),
        ("window = \"64 KiB\"", "ack-compression = true", "24: tcp.ack-compression", "sack = true"),
        ("window = \"64 KiB\"", "recovery = \"sack\"\nsack = false", "25: tcp.sack", "expected true"),
        ("window = \"64 KiB\"", "rto-min = \"5 s\"\nrto-max = \"4 s\"", "25: tcp.rto-max", "5 s to 1 h"),
        ("[nodes.phone]", "[nodes.\"../phone\"]", "7: nodes.\"../phone\"", "letters, digits"),
    ]);
}

fn trace_file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("lasthop-{}-{name}", std::process::id()));
    fs::write(&path, text).expect("a writable folder for temporary files");
    path
}

#[test]
fn a_rate_that_follows_a_trace_needs_a_readable_trace() {
    let traced =
        GOOD.replace("rate = \"2 Mbit/s\"", "rate = \"trace\"").replace("stop-and-wait", "immediate");
    let error = |text: &str, trace: Option<PathBuf>| {
        parse(text, "x.toml", Path::new("/nowhere"), &Overrides { trace, ..Overrides::default() })
            .expect_err("no good trace")
            .to_string()
    };
    let without = error(&traced, None);
    assert!(without.starts_with("x.toml:15: links.air.rate: "), "{without}");
    assert!(without.contains("give one with --trace FILE"), "{without}");
    let absent = error(&traced.replace("rate = \"trace\"", "trace = \"absent\""), None);
    assert!(
        absent.starts_with("x.toml:15: links.air.trace: /nowhere/absent: cannot read the file"),
        "{absent}"
    );
    let garbage = trace_file("garbage", "1\n2\nthree\n");
    let bad = error(&traced, Some(garbage.clone()));
    assert!(bad.starts_with("--trace: ") && bad.contains(":3: \"three\""), "{bad}");
    let cut = trace_file("cut", "100\n101\n10");
    assert!(error(&traced, Some(cut.clone())).contains(":3: 10 ms comes after 101 ms"));
    let empty = trace_file("empty", "");
    assert!(error(&traced, Some(empty.clone())).contains("no delivery opportunity"));
    assert!(error(GOOD, Some(garbage.clone())).contains("no link has rate = \"trace\""));
    let good = trace_file("good", "1\n");
    let waiting = error(&traced.replace("immediate", "stop-and-wait"), Some(good.clone()));
    assert!(waiting.contains("ack-timeout is missing"), "{waiting}");
    for path in [garbage, cut, empty, good] {
        fs::remove_file(path).expect("we wrote it");
    }
}
