//! Each reason for which a segment is refused, and how it is counted.

use std::convert::identity;

use lasthop_tcp::Refusal;

use crate::{events, run_with};

const LISTEN: &str = "
    0      socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
    +0     bind(3, ..., ...) = 0
    +0     listen(3, 1) = 0
";

const CONNECT: &str = "
    0      socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
    +0     connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
    +0     > S 0:0(0) <mss 1000>
";

const ACCEPT: &str = "
    +0     < S 0:0(0) win 9000 <mss 1000>
    +0     > S. 0:0(0) ack 1 <mss 1000>
";

/// What a script makes a new connection refuse.
#[track_caller]
fn refuses(head: &str, script: &[&str], wanted: &[(Refusal, u32)]) {
    run_with(head, identity, |run| {
        events(run, &script.concat());
        run.change(|connection, _| {
            let refused = connection.stats().refused;
            let found = Refusal::ALL.map(|reason| (reason, refused.by(reason)));
            let found: Vec<_> = found.into_iter().filter(|(_, count)| *count > 0).collect();
            assert_eq!(found, wanted);
            assert_eq!(refused.total(), wanted.iter().map(|(_, count)| u64::from(*count)).sum());
        });
    });
}

#[test]
fn segments_without_a_connection() {
    let script = "
        +0     < R. 1:1(0) ack 1 win 9000
        +0     < . 1:1(0) ack 1 win 9000
        +0     > R 1:1(0)
        +0     < R 1:1(0) win 9000
    ";
    refuses("--open=established --config=reno", &[script], &[(Refusal::Closed, 2)]);
}

#[test]
fn segments_to_a_listener() {
    let script = "
        +0     < R 0:0(0) win 9000
        +0     < . 1:1(0) ack 5 win 9000
        +0     > R 5:5(0)
        +0     < F 0:0(0) win 9000
    ";
    let wanted = [(Refusal::ResetOfNoSyn, 1), (Refusal::AckOfNoSyn, 1), (Refusal::NoSyn, 1)];
    refuses("--config=reno", &[LISTEN, script], &wanted);
}

#[test]
fn segments_in_syn_sent() {
    let script = "
        +0     < R 0:0(0) win 9000
        +0     < R. 0:0(0) ack 5 win 9000
        +0     < S. 0:0(0) ack 5 win 9000
        +0     > R 5:5(0)
        +0     < . 1:1(0) ack 1 win 9000
        +0     < F 0:0(0) win 9000
    ";
    let wanted = [(Refusal::ResetOfNoSyn, 2), (Refusal::AckOfNoSyn, 1), (Refusal::NoSyn, 2)];
    refuses("--config=reno", &[CONNECT, script], &wanted);
}

#[test]
fn segments_in_syn_received() {
    let script = "
        +0     < . 1:1(0) ack 5 win 9000
        +0     > R 5:5(0)
    ";
    refuses("--config=reno", &[LISTEN, ACCEPT, script], &[(Refusal::AckOfNoSyn, 1)]);
}

#[test]
fn segments_with_invalid_flags() {
    let script = "
        +0     < R 2:2(0) win 9000
        +0     > . 1:1(0) ack 1
        +0     < R 60000:60000(0) win 9000
        +.5    < S 1:1(0) win 9000
        +0     > . 1:1(0) ack 1
        +.5    < S 60000:60000(0) win 9000
        +0     > . 1:1(0) ack 1
        +0     < P 1:101(100) win 9000
    ";
    let wanted = [
        (Refusal::ResetOutsideWindow, 1),
        (Refusal::ResetNotExpected, 1),
        (Refusal::Syn, 2),
        (Refusal::NoAck, 1),
    ];
    refuses("--open=established --config=\"reno window=4000\"", &[script], &wanted);
}

#[test]
fn segments_outside_the_window_or_with_an_old_timestamp() {
    let script = "
        +0     < . 1:101(100) ack 1 win 9000 <nop,nop,TS val 5 ecr 0>
        +0     > . 1:1(0) ack 101 <nop,nop,TS val 1 ecr 5>
        +0     < . 1:101(100) ack 1 win 9000 <nop,nop,TS val 5 ecr 0>
        +0     > . 1:1(0) ack 101 <nop,nop,TS val 1 ecr 5>
        +0     < . 101:201(100) ack 1 win 9000 <nop,nop,TS val 4 ecr 0>
        +0     > . 1:1(0) ack 101 <nop,nop,TS val 1 ecr 5>
    ";
    let wanted = [(Refusal::OldTimestamp, 1), (Refusal::OutsideWindow, 1)];
    refuses("--open=established --config=\"reno timestamps\"", &[script], &wanted);
}

#[test]
fn segments_with_an_invalid_acknowledgment() {
    let script = "
        +0     write(3, ..., 3000) = 3000
        +0     > . 1:1001(1000) ack 1
        +0     < . 1:1(0) ack 1001 win 1000
        +0     > . 1001:2001(1000) ack 1
        +0     < . 1:1(0) ack 2001 win 1000
        +0     > P. 2001:3001(1000) ack 1
        +0     < . 1:1(0) ack 9001 win 1000
        +0     > . 3001:3001(0) ack 1
        +.5    < . 1:1(0) ack 1000 win 1000
        +0     > . 3001:3001(0) ack 1
    ";
    let wanted = [(Refusal::AckOfUnsent, 1), (Refusal::AckTooOld, 1)];
    refuses("--open=established --peer_window=1000 --config=reno", &[script], &wanted);
}
