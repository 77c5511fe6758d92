//! What a scheme can do to the receiver.

use lasthop_packet::Packet;
use lasthop_tcp::{OutgoingAck, ReceiverControl, ReceiverExtension};

use crate::run_receiver;

/// Tells in the reserved bits how many segments it was shown.
#[derive(Default)]
struct Counting(u8);

impl ReceiverExtension for Counting {
    fn on_segment(&mut self, _: &Packet, _: &mut ReceiverControl<'_>) {
        self.0 += 1;
    }

    fn on_ack_sent(&mut self, ack: &mut OutgoingAck<'_>, _: &mut ReceiverControl<'_>) {
        ack.set_reserved_bits(self.0);
    }
}

#[test]
fn on_segment_is_called_for_acceptable_segments_only() {
    run_receiver(
        r#"
        --open=established --config="reno"
        +0     < . 1:1001(1000) ack 1 win 65535
        +0     > . 1:1(0) ack 1001 bits 1
        +0     < . 1:1001(1000) ack 1 win 65535  // known already
        +0     > . 1:1(0) ack 1001 bits 1
        +0     < . 90001:90101(100) ack 1 win 65535  // beyond the window
        +0     > . 1:1(0) ack 1001 bits 1
        +0     < . 1001:1001(0) ack 5 win 65535  // of what was never sent
        +0     > . 1:1(0) ack 1001 bits 1
        +.5    < S. 1001:1001(0) ack 1 win 65535
        +0     > . 1:1(0) ack 1001 bits 1
        +.5    < R. 1002:1002(0) ack 1 win 65535
        +0     > . 1:1(0) ack 1001 bits 1
        +0     < P 1001:1101(100) win 65535  // no ACK: dropped
        +0     < . 2001:3001(1000) ack 1 win 65535  // out of order
        +0     > . 1:1(0) ack 1001 bits 2
        +0     < . 3001:3001(0) ack 1 win 65535  // a pure ACK
        +0     < . 1001:2001(1000) ack 1 win 65535
        +0     > . 1:1(0) ack 3001 bits 4
        +0     < F. 3001:3001(0) ack 1 win 65535
        +0     > . 1:1(0) ack 3002 bits 5
        "#,
        Counting::default,
    );
}

#[test]
fn on_segment_is_not_called_for_an_old_timestamp() {
    run_receiver(
        r#"
        --open=established --config="reno timestamps"
        +0     < . 1:1001(1000) ack 1 win 65535 <nop,nop,TS val 100 ecr 0>
        +0     > . 1:1(0) ack 1001 bits 1 <nop,nop,TS val 1 ecr 100>
        +0     < . 1001:2001(1000) ack 1 win 65535 <nop,nop,TS val 99 ecr 0>
        +0     > . 1:1(0) ack 1001 bits 1 <nop,nop,TS val 1 ecr 100>
        "#,
        Counting::default,
    );
}

#[test]
fn on_ack_sent_is_called_for_all_acks_after_the_handshake() {
    run_receiver(
        r#"
        --config="reno"
        0      socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
        +0     bind(3, ..., ...) = 0
        +0     listen(3, 1) = 0
        +0     < S 0:0(0) win 4000 <mss 1000>
        +0     > S. 0:0(0) ack 1 bits 0 <mss 1000>
        +0     < . 1:1(0) ack 1 win 4000  // ends the handshake
        +0     accept(3, ..., ...) = 4
        +0     write(4, ..., 1000) = 1000
        +0     > P. 1:1001(1000) ack 1 bits 1
        +0     < . 1:1001(1000) ack 1 win 4000
        +0     > . 1001:1001(0) ack 1001 bits 2
        +1     > P. 1:1001(1000) ack 1001 bits 2
        +0     setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0
        +0     close(4) = 0
        +0     > R. 1001:1001(0) ack 1001 bits 0
        "#,
        Counting::default,
    );
    run_receiver(
        r#"
        --config="reno"
        0      socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
        +0     connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
        +0     > S 0:0(0) bits 0 <mss 1000>
        +0     < S. 0:0(0) ack 1 win 4000 <mss 1000>
        +0     > . 1:1(0) ack 1 bits 0
        +0     < . 1:1001(1000) ack 1 win 4000
        +0     > . 1:1(0) ack 1001 bits 1
        "#,
        Counting::default,
    );
}

/// Tells in the reserved bits whether the segment shown last stood at RCV.NXT then, and whether
/// there is a gap now.
#[derive(Default)]
struct Before(u8);

impl ReceiverExtension for Before {
    fn on_segment(&mut self, segment: &Packet, receiver: &mut ReceiverControl<'_>) {
        self.0 = u8::from(segment.tcp().is_some_and(|tcp| tcp.seq == receiver.next()));
    }

    fn on_ack_sent(&mut self, ack: &mut OutgoingAck<'_>, receiver: &mut ReceiverControl<'_>) {
        assert_eq!(ack.packet().tcp().map(|tcp| tcp.ack), Some(receiver.next()));
        ack.set_reserved_bits(self.0 | u8::from(receiver.has_gap()) << 1);
    }
}

#[test]
fn on_segment_is_called_before_processing_and_on_ack_sent_after_it() {
    run_receiver(
        r#"
        --open=established --config="reno"
        +0     < . 1:1001(1000) ack 1 win 65535
        +0     > . 1:1(0) ack 1001 bits 1
        +0     < . 2001:3001(1000) ack 1 win 65535
        +0     > . 1:1(0) ack 1001 bits 2
        +0     < . 3001:4001(1000) ack 1 win 65535
        +0     > . 1:1(0) ack 1001 bits 2
        +0     < . 1001:2001(1000) ack 1 win 65535
        +0     > . 1:1(0) ack 4001 bits 1
        "#,
        Before::default,
    );
}

/// Limits the window to the number of thousand octets in the reserved bits of the last segment, 7 for no
/// limit; as late as possible.
#[derive(Default)]
struct Limit(u8);

impl ReceiverExtension for Limit {
    fn on_segment(&mut self, segment: &Packet, _: &mut ReceiverControl<'_>) {
        self.0 = segment.tcp_reserved_bits();
    }

    fn on_ack_sent(&mut self, _: &mut OutgoingAck<'_>, receiver: &mut ReceiverControl<'_>) {
        receiver.limit_window(if self.0 == 7 { u32::MAX } else { u32::from(self.0) * 1000 });
    }
}

//= RFC 9293, section 3.8.6: the right edge is never moved to the left.
#[test]
fn a_limit_is_reached_as_data_arrives_without_shrinking_the_window() {
    run_receiver(
        r#"
        --open=established --config="reno window=5000"
        +0     < . 1:1001(1000) ack 1 win 65535 bits 2
        +0     > . 1:1(0) ack 1001 win 4000
        +0     < . 1001:2001(1000) ack 1 win 65535 bits 2
        +0     > . 1:1(0) ack 2001 win 3000
        +0     < . 2001:3001(1000) ack 1 win 65535 bits 2
        +0     > . 1:1(0) ack 3001 win 2000
        +0     < . 3001:4001(1000) ack 1 win 65535 bits 2
        +0     > . 1:1(0) ack 4001 win 2000  // and no second ACK for what was read
        +0     < . 4001:5001(1000) ack 1 win 65535 bits 7
        +0     > . 1:1(0) ack 5001 win 5000  // lifted
        +0     < . 5001:6001(1000) ack 1 win 65535 bits 6
        +0     > . 1:1(0) ack 6001 win 5000  // the buffer's own bound
        "#,
        Limit::default,
    );
}

#[test]
fn unread_data_counts_as_without_a_limit() {
    run_receiver(
        r#"
        --open=established --reader=explicit --tolerance_usecs=0 --config="reno window=5000"
        +0     < . 1:3001(3000) ack 1 win 65535 bits 3
        +0     > . 1:1(0) ack 3001 win 2000  // what is free in the buffer is less than the limit
        +0     < . 3001:5001(2000) ack 1 win 65535 bits 3
        +0     > . 1:1(0) ack 5001 win 0
        +0     read(3, ..., 5000) = 5000
        +0     > . 1:1(0) ack 5001 win 3000
        "#,
        Limit::default,
    );
}

#[test]
fn a_closed_window_is_probed_until_the_limit_is_raised() {
    run_receiver(
        r#"
        --open=established --config="reno window=2000"
        +0     < . 1:2001(2000) ack 1 win 65535 bits 0
        +0     > . 1:1(0) ack 2001 win 0
        +1     < . 2001:2002(1) ack 1 win 65535 bits 1  // outside the window: not shown
        +0     > . 1:1(0) ack 2001 win 0
        +0     < . 2001:2001(0) ack 1 win 65535 bits 1  // acceptable, but nothing is owed for it
        +1     < . 2001:2002(1) ack 1 win 65535
        +0     > . 1:1(0) ack 2001 win 1000
        "#,
        Limit::default,
    );
}

#[test]
fn a_limit_is_rounded_down_to_the_unit_of_a_scaled_window() {
    run_receiver(
        r#"
        --open=established --config="reno window=200000"
        +0     < . 1:199001(199000) ack 1 win 65535 bits 1
        +0     > . 1:1(0) ack 199001 win 250
        +0     < . 199001:199502(501) ack 1 win 65535 bits 1
        +0     > . 1:1(0) ack 199502 win 250
        "#,
        Limit::default,
    );
}
