//! Taking the place of one end behind a handshake that somebody else made.

use lasthop_packet::{Instant, Seq, Tcp, TcpFlags};
use lasthop_tcp::{Config, Connection, Handshake, NotAHandshake};

use crate::script::{Open, Script, config};

#[test]
fn the_end_that_opened_is_established_and_owes_an_acknowledgment() {
    Script::new(
        Open::Adopt(
            "S 0:0 win 64240 <mss 1000, wscale 7, sackOK, TS 7000 0>",
            "S. 0:0 ack 1 win 60000 <mss 900, wscale 3, sackOK, TS 500 7000>",
        ),
        Config { window: 200_000, ..config() },
    )
    .run(
        "
        +0    > . 1:1 ack 1 win 1562 <TS 7010 500>     # 200,000 in units of 128, rounded down
        +0    state Established mss 888 window 60000 srtt 10ms timer none
        +0    write 1000
        +0    > 1:889(888) ack 1
        +20ms < . ack 889 win 8000 <TS 520 7010>
        +0    > 889:1001(112) ack 1 <TS 7030 520>
        +0    window 64000
        ",
    );
}

#[test]
fn the_end_that_answered_waits_for_the_acknowledgment_and_answers_again() {
    Script::new(
        Open::Adopt(
            "S. 0:0 ack 1 win 65160 <mss 1000, wscale 7, sackOK, TS 9000 300>",
            "S 0:0 win 64240 <mss 900, wscale 10, sackOK, TS 300 0>",
        ),
        Config { window: 30_000, ..config() },
    )
    .run(
        "
        +0    state SynReceived mss 888
        1.01s > S. 0:0 ack 1 <mss 1000, wscale 7, sackOK, TS 10010 300>
        1.5s  < S 0:0 win 64240 <mss 900, wscale 10, sackOK, TS 1300 0>
        +0    > S. 0:0 ack 1
        +10ms < . 1:1 ack 1 win 63 <TS 1310 10010>
        +0    state Established window 64512
        ",
    );
}

#[test]
fn options_that_the_syns_do_not_have_are_not_used_whatever_is_configured() {
    let config = Config { window: 200_000, timestamps: true, sack: true, ecn: true, ..config() };
    Script::new(
        Open::Adopt("S 0:0 win 8000 <mss 1000, wscale 7, TS 7000 0>", "S. 0:0 ack 1 win 60000"),
        config.clone(),
    )
    .run(
        "
        +0    > . 1:1 ack 1 win 65535 <>
        +0    mss 536
        +0    < 501:1001(500) ack 1
        +0    > . ack 1 <>
        ",
    );
    // What was not offered is not used either, even if the peer answers with it.
    Script::new(
        Open::Adopt(
            "S 0:0 win 8000 <mss 600>",
            "S. 0:0 ack 1 win 60000 <mss 1000, wscale 5, sackOK, TS 5 0>",
        ),
        config,
    )
    .run(
        "
        +0    > . 1:1 ack 1 win 65535 <>
        +0    mss 600 window 60000
        ",
    );
}

#[test]
fn ecn_is_used_if_both_syns_say_so_and_not_otherwise() {
    for (ours, peers, is_used) in [
        ("SEW 0:0 <mss 1000>", "S.E 0:0 ack 1 <mss 1000>", true),
        ("S.E 0:0 ack 1 <mss 1000>", "SEW 0:0 <mss 1000>", true),
        ("SEW 0:0 <mss 1000>", "S. 0:0 ack 1 <mss 1000>", false),
        ("S 0:0 <mss 1000>", "S.E 0:0 ack 1 <mss 1000>", false),
        ("S. 0:0 ack 1 <mss 1000>", "SEW 0:0 <mss 1000>", false),
    ] {
        let ecn = if is_used { "ect0" } else { "not-ect" };
        let acknowledgment = if ours.contains('.') { "+0 < . 1:1 ack 1" } else { "+0 > . 1:1 ack 1" };
        let text = format!("{acknowledgment}\n+0 write 500\n+0 > 1:501(500) {ecn}");
        Script::new(Open::Adopt(ours, peers), config()).run(&text);
    }
}

#[test]
fn what_was_promised_in_the_syn_stays_promised() {
    Script::new(
        Open::Adopt("S 0:0 win 64240 <mss 1000>", "S. 0:0 ack 1 win 60000 <mss 1000>"),
        Config { window: 4_000, ..config() },
    )
    .run(
        "
        +0    > . 1:1 ack 1 win 64240
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 win 63240
        ",
    );
}

#[test]
fn what_is_no_handshake_is_refused() {
    let syn = Tcp { seq: Seq(100), flags: TcpFlags::SYN, ..Tcp::default() };
    let answer =
        Tcp { seq: Seq(900), ack: Seq(101), flags: TcpFlags::SYN.with(TcpFlags::ACK), ..Tcp::default() };
    let adopt = |ours: &Tcp, peers: &Tcp| {
        let (a, b) = (([10, 0, 0, 1].into(), 1), ([10, 0, 0, 2].into(), 2));
        let handshake = Handshake { ours, sent: None, peers };
        Connection::adopt(config(), a, b, handshake, Instant::ZERO).err()
    };
    assert_eq!(adopt(&syn, &answer), None);
    assert_eq!(adopt(&answer, &syn), None);
    let another = Tcp { ack: Seq(102), ..answer.clone() };
    let bare = Tcp { flags: TcpFlags::ACK, ..answer.clone() };
    for (ours, peers) in [(&syn, &syn), (&answer, &answer), (&syn, &another), (&another, &syn), (&syn, &bare)]
    {
        assert_eq!(adopt(ours, peers), Some(NotAHandshake));
    }
}
