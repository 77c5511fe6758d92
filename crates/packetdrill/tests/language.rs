//! Tests of the semantics of the language, and of errors.

use lasthop_packetdrill::{Error, Place, Script, Verdict, verdict_of};
use proptest::prelude::*;

const EXACT: &str = "--open=established --tolerance_usecs=0 --config=reno\n";

#[track_caller]
fn passes(script: &str) {
    assert_eq!(verdict_of(script), Verdict::Passes, "{script}");
}

/// The line and the difference of a script that fails.
#[track_caller]
fn fails(script: &str) -> (usize, String) {
    match verdict_of(script) {
        Verdict::Fails(Error::Failed { place, difference }) => (place.line, difference),
        other => panic!("{other:?}\n{script}"),
    }
}

#[track_caller]
fn not_understood(script: &str) -> String {
    match verdict_of(script) {
        Verdict::NotUnderstood(error) => error.to_string(),
        other => panic!("{other:?}\n{script}"),
    }
}

const SERVER: &str = "
    `../common/defaults.sh`
    0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    +0  setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
    +0  bind(3, ..., ...) = 0
    +0  listen(3, 1) = 0
    +.1 < S 0:0(0) win 32792 <mss 1000,nop,wscale 7>
    +0  > S. 0:0(0) ack 1 <mss 1460,nop,wscale 8>
    +.1 < . 1:1(0) ack 1 win 257
    +0  accept(3, ..., ...) = 4
";

#[test]
fn a_server_is_opened_by_system_calls() {
    passes(&format!(
        "{SERVER}
        +0  write(4, ..., 1000) = 1000
        +0  > P. 1:1001(1000) ack 1
        +0  %{{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd; assert tcpi_state == TCP_ESTABLISHED }}%"
    ));
}

#[test]
fn a_client_may_block_until_it_is_connected() {
    passes(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
        +0...0.010 connect(3, ..., ...) = 0
        +0   > S 0:0(0) <...>
        +.01 < S. 0:0(0) ack 1 win 5000 <mss 1000>
        +0   > . 1:1(0) ack 1
        +0   close(3) = 0
        +0   > F. 1:1(0) ack 1",
    );
}

#[test]
fn a_read_blocks_until_there_is_data_and_returns_at_its_time() {
    passes(&format!(
        "{SERVER}
        +0...0.1 read(4, ..., 2000) = 2000
        +.1 < P. 1:2001(2000) ack 1 win 257
        +0  > . 1:1(0) ack 2001"
    ));
    let (_, difference) = fails(&format!(
        "{SERVER}
        +0...0.2 read(4, ..., 2000) = 2000
        +.1 < P. 1:2001(2000) ack 1 win 257
        +0  > . 1:1(0) ack 2001"
    ));
    assert_eq!(difference, "expected read to return at 0.400000 s\n  got at 0.300000 s");
}

#[test]
fn errors_are_those_of_sockets() {
    passes(&format!(
        "{SERVER}
        +0  fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
        +0  read(4, ..., 1000) = -1 EAGAIN (Resource temporarily unavailable)
        +0  shutdown(4, SHUT_WR) = 0
        +0  > F. 1:1(0) ack 1
        +0  write(4, ..., 1) = -1 EPIPE (Broken pipe)
        +0  < R. 1:1(0) ack 2 win 257
        +0  read(4, ..., 1000) = -1 ECONNRESET (Connection reset by peer)
        +0  read(5, ..., 1000) = -1 EBADF (Bad file descriptor)"
    ));
}

#[test]
fn a_close_with_unread_data_resets_the_connection() {
    passes(&format!(
        "{SERVER}
        +0  < P. 1:1001(1000) ack 1 win 257
        +0  > . 1:1(0) ack 1001
        +0  close(4) = 0
        +0  > R. 1:1(0) ack 1001"
    ));
}

#[test]
fn a_super_packet_matches_its_segments_of_which_all_but_the_last_are_full() {
    passes(&format!("{EXACT}+0 write(3, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1"));
    let four = "--open=established --tolerance_usecs=0 --config=\"reno initial_window=4\"\n";
    passes(&format!("{four}+0 write(3, ..., 3500) = 3500\n+0 > P. 1:3501(3500) ack 1"));
    fails(&format!("{four}+0 write(3, ..., 3500) = 3500\n+0 > P. 1:2501(2500) ack 1"));
    fails(&format!("--strict_segments {four}+0 write(3, ..., 3500) = 3500\n+0 > P. 1:3501(3500) ack 1"));
    let short = "+0 write(3, ..., 500) = 500\n+0 write(3, ..., 500) = 500\n+0 > P. 1:1001(1000) ack 1";
    fails(&format!("{four}{short}"));
}

#[test]
fn a_difference_is_shown_with_its_line() {
    let (line, difference) = fails(&format!("{EXACT}+0 write(3, ..., 500) = 500\n+0 > P. 1:502(501) ack 1"));
    assert_eq!(line, 3);
    let expected = "expected at 0.000000 s: P. 1:502(501) ack 1\n  got at 0.000000 s:      P. 1:501(500) ack 1 win 65535";
    assert_eq!(difference, expected);
    let (line, difference) = fails(&format!("{EXACT}+0 %{{ assert cwnd == 5 and nxt == 1 }}%"));
    assert_eq!(
        (line, difference.as_str()),
        (2, "expected assert cwnd == 5 and nxt == 1\n  got cwnd = 1000, nxt = 1")
    );
}

#[test]
fn with_zero_tolerance_a_segment_without_a_line_fails_the_script() {
    let (line, difference) = fails(&format!("{EXACT}+0 write(3, ..., 500) = 500\n+.1 close(3) = 0"));
    assert_eq!(line, 3);
    assert!(difference.starts_with("expected nothing to be sent before this"), "{difference}");
    let (line, _) = fails(&format!("{EXACT}+0 write(3, ..., 500) = 500"));
    assert_eq!(line, 2);
    passes("--open=established --config=reno\n+0 write(3, ..., 500) = 500");
}

#[test]
fn times_are_exact_or_within_the_tolerance_or_in_a_range() {
    let lost = "+0 write(3, ..., 500) = 500\n+0 > P. 1:501(500) ack 1\n";
    passes(&format!("{EXACT}{lost}+1 > P. 1:501(500) ack 1"));
    passes(&format!("{EXACT}{lost}1.0 > P. 1:501(500) ack 1"));
    passes(&format!("{EXACT}{lost}+.9~+1.1 > P. 1:501(500) ack 1"));
    passes(&format!("{EXACT}{lost}* > P. 1:501(500) ack 1\n+2 > P. 1:501(500) ack 1"));
    fails(&format!("{EXACT}{lost}+.999 > P. 1:501(500) ack 1"));
    fails(&format!("{EXACT}{lost}+.8~+.9 > P. 1:501(500) ack 1"));
    passes(&format!("--open=established --config=reno\n{lost}+.998 > P. 1:501(500) ack 1"));
    fails(&format!("--open=established --config=reno\n{lost}+.995 > P. 1:501(500) ack 1"));
}

#[test]
fn code_has_arithmetic_comparisons_and_names() {
    for code in [
        "assert 2 + 3 * 4 - 1 == 13 and 7 // 2 == 3",
        "assert not 1 > 2 or cwnd",
        "assert 0 < cwnd <= 0x400 * 4, cwnd",
        "assert (timer_for == '') == 1",
        "segments = 2\nassert cwnd == segments * 500",
        "print(cwnd); assert \\\n -1 == timer  # none runs",
    ] {
        passes(&format!("{EXACT}+0 %{{ {code} }}%"));
    }
    assert_eq!(
        not_understood(&format!("{EXACT}+0 %{{ import os }}%")),
        "2: not understood: the code \"import os\""
    );
    assert_eq!(not_understood(&format!("{EXACT}+0 %{{ assert x == 1 }}%")), "2: not understood: x in code");
}

#[test]
fn an_unsupported_element_is_named() {
    for (script, what) in [
        ("--foo=1\n0 close(3) = 0", "1: not understood: the option --foo=1"),
        ("`reboot`\n0 close(3) = 0", "1: not understood: the command \"reboot\""),
        ("`sysctl -q net.ipv4.tcp_x=1`\n0 close(3) = 0", "1: not understood: the sysctl tcp_x=1"),
        ("0 > udp (10)", "1: not understood: udp in a packet"),
        ("0 < S 0:0(0) win 1 <FOEXP abcd>", "1: not understood: the option FOEXP"),
        ("0 epoll_create(1) = 3", "1: not understood: the system call epoll_create"),
        ("--config=\"reno colour=1\"\n0 close(3) = 0", "1: not understood: \"colour\" in --config"),
    ] {
        assert_eq!(not_understood(script), what);
    }
}

#[test]
fn a_syntax_error_has_its_place() {
    for (script, line, column, expected) in [
        ("0 < S 0:0(0) win", 1, 17, "a window, got the end of the script"),
        ("0 < S 0:0(0) win 70000", 1, 18, "a window in its range, got \"70000\""),
        ("// text\n 0 > . 1:5(3)", 2, 10, "4: the length is 3"),
        ("/* open", 1, 1, "\"*/\" after this"),
        ("x < S", 1, 1, "a time in seconds, got \"x\""),
        ("* close(3) = 0", 1, 1, "a single time: only an outbound packet may have a range or *"),
        ("0 < . 1:1(0) ack 1 <...>", 1, 5, "options: <...> is for outbound packets"),
    ] {
        let expected = expected.to_owned();
        let error = Script::parse(script).expect_err(script);
        assert_eq!(error, Error::Syntax { place: Place { line, column }, expected }, "{script}");
    }
}

#[test]
fn a_script_may_not_exceed_the_maximum_time() {
    let late = "+9000000 %{ assert 1 }%\n".repeat(3);
    assert_eq!(not_understood(&format!("{EXACT}{late}")), "3:1: expected a time before 10,000,000 s");
}

#[test]
fn a_sysctl_sets_what_the_endpoint_has() {
    passes(
        "`../common/defaults.sh
        ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \\
            /proc/sys/net/ipv4/tcp_sack=0
        sysctl -q net.ipv4.tcp_ecn=1   # offered
        `
        0  socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
        +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
        +0 > SEW 0:0(0) <mss 1460,nop,wscale 8>
        `rm -f /tmp/restore.sh`",
    );
}

/// Texts that resemble scripts.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "0",
        "+.1",
        "*",
        "~",
        "...",
        "<",
        ">",
        "S",
        ".",
        "P.",
        "-",
        "1:1001(1000)",
        "0:0(0)",
        "ack",
        "1",
        "win",
        "257",
        "mss",
        "1000",
        ",",
        "sack",
        "TS",
        "val",
        "ecr",
        "write(3, ..., 1000)",
        "=",
        "%{ assert cwnd == 1 }%",
        "%{",
        "}%",
        "`",
        "\"",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "--open=established",
        "--config=reno",
        "icmp",
        "unreachable",
        "frag_needed",
        "mtu",
        "close(3) = 0",
        "socket(..., SOCK_STREAM, 0) = 3",
        "listen(3, 1) = 0",
        "accept(3, ..., ...) = 4",
        "\n",
        "bits",
        "%{ assert not (1 }%",
        "0x",
        "99999999999999999999",
        "é",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #[test]
    fn no_text_causes_a_panic(text in any::<String>()) {
        let _ = verdict_of(&text);
    }

    #[test]
    fn no_text_that_resembles_a_script_causes_a_panic(text in pieces()) {
        let _ = verdict_of(&text);
    }

    #[test]
    fn no_code_causes_a_panic(code in "[-a-z0-9_()<>=!+*/ ';,\"\n\\\\]{0,60}") {
        let _ = verdict_of(&format!("{EXACT}+0 %{{ assert {code} }}%"));
    }
}
