//! Rows of a comparison with their own TCP settings.

use lasthop_schemes::SchemeStack;
use lasthop_tcp::{Congestion, Recovery};

use super::{GOOD, check, read};

#[test]
fn a_row_may_have_its_own_tcp_settings() {
    let rows = r#"schemes = ["none", { tcp = { congestion = "cubic", recovery = "sack" } }, { tcp.recovery = "newreno" },
        { scheme = "snoop", tcp.congestion = "vegas" }, { scheme = "no-loss", label = "best", tcp.window = "8 KiB" }]
"#;
    let text = GOOD.replacen("schemes = [\"none\", { scheme = \"snoop\", label = \"s\" }]\n", rows, 1);
    let scenario = read(&text).expect("a right scenario");
    let labels: Vec<&str> = scenario.schemes.iter().map(|row| row.label.as_str()).collect();
    assert_eq!(labels, ["none", "cubic", "newreno", "vegas + snoop", "best"]);
    let flow = scenario.flows[0].tcp().expect("it goes over TCP");
    let tcp = |row: usize| &scenario.schemes[row].tcp_of(0, flow).sender;
    assert_eq!((tcp(0).congestion, tcp(0).recovery), (Congestion::Reno, Recovery::Reno));
    assert_eq!((tcp(1).congestion, tcp(1).recovery, tcp(1).sack), (Congestion::Cubic, Recovery::Sack, true));
    assert_eq!(tcp(1).window, 65_536, "what the row says nothing of is the scenario's");
    assert_eq!((tcp(3).congestion, tcp(4).window), (Congestion::Vegas, 8192));
    assert_eq!(scenario.schemes[3].stack().map(SchemeStack::names).as_deref(), Some("snoop"));
}

#[test]
fn a_stack_of_schemes_is_a_row() {
    let rows = r#"schemes = ["none", { stack = ["snoop", { scheme = "lle-tcp", repairs = 2 }] },
        { stack = ["snoop"], label = "alone", tcp.congestion = "vegas" }, { stack = ["simple-icmp", "snoop"], tcp.congestion = "vegas" }]
"#;
    let text = GOOD.replacen("schemes = [\"none\", { scheme = \"snoop\", label = \"s\" }]\n", rows, 1);
    let scenario = read(&text).expect("a right scenario");
    let rows = scenario.schemes.iter().map(|row| {
        (
            row.label.as_str(),
            row.stack().map(ToString::to_string).unwrap_or_default(),
            row.changes_endpoints(),
        )
    });
    let expected = [
        ("none", "none", false),
        ("snoop+lle-tcp", "snoop + lle-tcp { repairs = 2 }", false),
        ("alone", "snoop", false),
        ("vegas + simple-icmp+snoop", "simple-icmp + snoop", true),
    ];
    assert!(rows.eq(expected.map(|(label, spec, endpoints)| (label, spec.to_owned(), endpoints))));
}

#[test]
fn an_error_in_a_stack_has_its_place() {
    let right = "scheme = \"snoop\", label = \"s\"";
    check(&[
        (right, "stack = [\"snoop\", \"nonesuch\"]", "1: schemes[1].stack[1]", "unknown scheme"),
        (right, "stack = [\"no-loss\"]", "1: schemes[1].stack[0]", "unknown scheme \"no-loss\""),
        (
            right,
            "stack = [\"none\", { scheme = \"snoop\", reordering = 65 }]",
            "1: schemes[1].stack[1].reordering",
            "0 to 64",
        ),
        (right, "stack = []", "1: schemes[1]", "one or more"),
        (right, "stack = [\"snoop\"], reordering = 2", "1: schemes[1]", "with its own settings"),
        (right, "stack = [\"snoop\"], scheme = \"snoop\"", "1: schemes[1]", "either a scheme"),
        (right, "stack = [\"simple-icmp\", \"refined-icmp\"]", "1: schemes[1].stack[1]", "one such scheme"),
    ]);
}

#[test]
fn an_error_in_the_tcp_settings_of_a_row_has_the_place_of_the_row() {
    check(&[
        (
            "scheme = \"snoop\", label = \"s\"",
            "tcp.congestion = \"bbr9\"",
            "1: schemes[1].tcp.congestion",
            "cubic",
        ),
        ("scheme = \"snoop\", label = \"s\"", "tcp.window = \"0 B\"", "1: schemes[1].tcp.window", "1 GiB"),
        (
            "scheme = \"snoop\", label = \"s\"",
            "tcp.recovery = \"sack\", tcp.sack = false",
            "1: schemes[1].tcp.sack",
            "true",
        ),
        ("scheme = \"snoop\", label = \"s\"", "tcp.colour = 1", "1: schemes[1].tcp.colour", "unknown key"),
        ("scheme = \"snoop\", label = \"s\"", "label = \"s\"", "1: schemes[1].scheme", "missing"),
    ]);
}
