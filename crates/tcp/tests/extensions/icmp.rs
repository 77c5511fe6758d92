//! Which ICMP messages are accepted.
//!
//! //= RFC 5927, section 4.1: the number quoted must be that of a segment that is outstanding.

use lasthop_packet::{Icmp, Ip, Packet, Payload, Transport};
use lasthop_tcp::{IcmpNotice, SenderControl, SenderExtension};

use crate::{events, run_sender, run_with};

/// Retransmits the segment quoted in an ICMP message.
struct Retransmit;

impl SenderExtension for Retransmit {
    fn on_icmp(&mut self, notice: IcmpNotice, sender: &mut SenderControl<'_>) {
        sender.retransmit(notice.seq);
    }
}

#[test]
fn only_a_quotation_of_an_outstanding_segment_is_accepted() {
    run_sender(
        r#"
        --open=established --config="reno initial_window=3"
        +0     < icmp unreachable host_unreachable [1:1(0)]
        +0     write(3, ..., 3000) = 3000
        +0     > P. 1:3001(3000) ack 1
        +.01   < . 1:1(0) ack 1001 win 65535
        +0     < icmp unreachable host_unreachable [1:1(0)]        // acknowledged
        +0     < icmp unreachable host_unreachable [3001:3001(0)]  // not sent yet
        +0     %{ assert icmp_accepted == 0 }%
        +0     < icmp unreachable host_unreachable [1001:1001(0)]
        +0     > . 1001:2001(1000) ack 1
        +0     %{ assert icmp_accepted == 1 }%
        +0     setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0
        +0     close(3) = 0
        +0     > R. 3001:3001(0) ack 1
        +0     < icmp unreachable host_unreachable [1001:1001(0)]
        +0     %{ assert icmp_accepted == 1 and timer == -1 }%
        "#,
        || Retransmit,
    );
}

/// Of another connection, or cut off within the sequence number.
#[test]
fn quotations_of_other_segments_are_ignored() {
    run_with(
        "--open=established --config=reno",
        |connection| connection.with_sender_extension(Some(Box::new(Retransmit))),
        |run| {
            events(run, "+0 write(3, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1");
            run.change(|connection, now| {
                let number = connection.flight().una.0.to_be_bytes();
                let (local, remote) = (connection.local().1, connection.remote().1);
                let addresses = [10, 0, 0, 1, 10, 0, 0, 2];
                for (port, missing) in [(local + 1, 0), (local, 1)] {
                    let mut quoted = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
                    quoted.extend(addresses);
                    quoted.extend(port.to_be_bytes());
                    quoted.extend(remote.to_be_bytes());
                    quoted.extend(&number[missing..]);
                    let icmp = Icmp { kind: 3, code: 1, rest_of_header: [0; 4] };
                    let ip = Ip::new([10, 0, 0, 9].into(), connection.local().0);
                    let message = Packet::new(ip, Transport::Icmp(icmp), Payload::Bytes(quoted.into()));
                    connection.on_icmp(&message, now);
                }
            });
            events(run, "+0 %{ assert icmp_accepted == 0 }%");
        },
    );
}

#[test]
fn icmp_messages_are_ignored_in_the_handshake() {
    run_sender(
        r#"
        --config="reno"
        0      socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
        +0     connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
        +0     > S 0:0(0) <mss 1000>
        +.01   < icmp unreachable host_unreachable [0:0(0)]
        +0     %{ assert icmp_accepted == 0 and tcpi_state == TCP_SYN_SENT }%
        "#,
        || Retransmit,
    );
}
