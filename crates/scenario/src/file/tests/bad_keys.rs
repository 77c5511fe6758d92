//! Invalid keys and values.

use super::{GOOD, check, error, spoilt};

#[test]
fn the_error_about_an_unknown_key_lists_the_known_keys() {
    check(&[
        ("seeds = 2", "seed = 2", "2: seed", "expected one of"),
        ("rate = \"2 Mbit/s\"", "rates = \"2 Mbit/s\"", "15: links.air.rates", "expected one of"),
        ("good = { mean", "good = { means", "18: links.air.channel.good.means", "expected `mean` or `loss`"),
        ("window =", "windows =", "24: tcp.windows", "expected one of"),
        ("{ kind = \"stop-and-wait\"", "{ typ = 1", "16: links.air.link-layer.typ", "`kind`"),
    ]);
}

#[test]
fn a_list_of_two_has_two() {
    let between = "between = [\"ap\", \"phone\"]";
    check(&[
        (between, "between = [\"ap\", \"phone\", \"server\"]", "14: links.air.between", "a list of 3"),
        (between, "between = [\"ap\"]", "14: links.air.between", "a list of 1"),
    ]);
}

#[test]
fn the_error_about_a_missing_key_has_its_table() {
    check(&[
        ("between = [\"ap\", \"phone\"]", "", "12: links.air.between", "missing"),
        ("kind = \"router\"", "", "5: nodes.ap.kind", "missing"),
        ("from = \"server\"", "", "20: flows.download.from", "missing"),
        ("good = { mean = \"5 s\" }", "", "17: links.air.channel.good.mean", "missing"),
        ("rate = \"2 Mbit/s\"", "", "12: links.air", "no rate in its forward direction"),
        ("scheme = \"snoop\", ", "", "1: schemes[1].scheme", "missing"),
    ]);
    assert!(error("seeds = 3\n").starts_with("x.toml:1: nodes: missing"), "{}", error("seeds = 3\n"));
}

#[test]
fn the_error_about_a_unit_or_sign_has_the_expected_value() {
    let rate = "rate in bit/s, kbit/s, Mbit/s or Gbit/s, such as \"11 Mbit/s\"";
    check(&[
        ("rate = \"2 Mbit/s\"", "rate = \"11 MB/s\"", "15: links.air.rate", rate),
        ("rate = \"2 Mbit/s\"", "rate = \"-2 Mbit/s\"", "15: links.air.rate", rate),
        ("rate = \"2 Mbit/s\"", "rate = \"1001 Gbit/s\"", "15: links.air.rate", "at most \"1000 Gbit/s\""),
        ("rate = \"2 Mbit/s\"", "rate = 2", "15: links.air.rate", rate),
        ("rate = \"2 Mbit/s\"", "rate = \"2 Mbit/s\"\nloss = \"101%\"", "16: links.air.loss", "\"1%\""),
        ("rate = \"2 Mbit/s\"", "rate = \"2 Mbit/s\"\nqueue = \"50\"", "16: links.air.queue", "50 packets"),
        ("rate = \"2 Mbit/s\"", "rate = \"2 Mbit/s\"\ndelay = \"5\"", "16: links.air.delay", "5 ms"),
        ("rate = \"2 Mbit/s\"", "rate = \"2 Mbit/s\"\ndelay = \"2 h\"", "16: links.air.delay", "0 s to 1 h"),
        ("good = { mean = \"5 s\" }", "good = { mean = 5 }", "18: links.air.channel.good.mean", "a duration"),
        ("window = \"64 KiB\"", "window = \"64\"", "24: tcp.window", "42 segments"),
        ("window = \"64 KiB\"", "window = \"0 B\"", "24: tcp.window", "1 GiB"),
        ("window = \"64 KiB\"", "segment = \"70000 B\"", "24: tcp.segment", "65495 B"),
        ("window = \"64 KiB\"", "rto-min = \"0 s\"", "24: tcp.rto-min", "1 ms to 1 h"),
        ("window = \"64 KiB\"", "initial-window = 0", "24: tcp.initial-window", "1 to 1000"),
        (
            "window = \"64 KiB\"",
            "congestion = \"warp\"",
            "24: tcp.congestion",
            "expected one of \"reno\", \"reno-abc\", \"vegas\", \"westwood\", \"cubic\"",
        ),
        (
            "window = \"64 KiB\"",
            "congestion = \"bbr\"\nrecovery = \"sack\"",
            "25: tcp.recovery",
            "expected recovery = \"rack\" with",
        ),
        (
            "window = \"64 KiB\"",
            "recovery = \"stack\"",
            "24: tcp.recovery",
            "expected one of \"tahoe\", \"reno\", \"newreno\", \"sack\", \"rack\"",
        ),
    ]);
}

#[test]
fn the_error_about_a_type_has_the_expected_type() {
    check(&[
        ("seeds = 2", "seeds = \"two\"", "2: seeds", "a list of seeds"),
        ("seeds = 2", "seeds = -2", "2: seeds", "from 1 to 10000"),
        ("schemes = [\"none\"", "schemes = [7", "1: schemes[0]", "a scheme's name"),
        ("[\"ap\", \"phone\"]", "[\"ap\"]", "14: links.air.between", "2"),
        ("[\"ap\", \"phone\"]", "\"ap\"", "14: links.air.between", "a list of 2"),
        ("kind = \"router\"", "kind = \"bridge\"", "6: nodes.ap.kind", "\"host\", \"router\", \"external\""),
        ("{ kind = \"stop-and-wait\" }", "\"go-back-n\"", "16: links.air.link-layer", "\"stop-and-wait\""),
        ("seeds = 2", "measure = [\"cwnd\"]", "2: measure[0]", "\"window\""),
    ]);
}

#[test]
fn the_error_about_syntax_has_its_line_and_key() {
    check(&[
        ("rate = \"2 Mbit/s\"", "rate = ", "15: links.air.rate", ""),
        ("rate = \"2 Mbit/s\"", "rate = \"2 Mbit/s", "15: links.air.rate", ""),
        (
            "rate = \"2 Mbit/s\"",
            "rate = \"2 Mbit/s\"\nrate = \"3 Mbit/s\"",
            "16: links.air.rate",
            "duplicate",
        ),
        ("[nodes.phone]", "[nodes.ap]", "7: nodes.ap", "duplicate"),
    ]);
}

#[test]
fn a_scenario_without_one_of_its_lines_is_read_or_has_an_error_with_a_line() {
    for lost in 0..GOOD.lines().count() {
        let kept: Vec<&str> =
            GOOD.lines().enumerate().filter(|(line, _)| *line != lost).map(|(_, text)| text).collect();
        if let Err(error) = super::read(&kept.join("\n")) {
            assert!(error.line.is_some(), "{error}");
        }
    }
    assert!(spoilt("[links.air]", "").contains("links.wire"));
}
