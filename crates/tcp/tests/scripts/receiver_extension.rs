//! What a scheme can do to the receiver.

use lasthop_packet::Packet;
use lasthop_tcp::{Config, OutgoingAck, ReceiverControl, ReceiverExtension};

use crate::script::{Open, Script, config};

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

fn counting(open: Open, config: Config) -> Script {
    Script::new(open, config).dress(|c| c.with_receiver_extension(Some(Box::<Counting>::default())))
}

#[test]
fn every_acceptable_segment_is_shown_and_no_other() {
    counting(Open::Established, config()).run(
        "
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 bits 1
        +0    < 1:1001(1000) ack 1         # known already
        +0    > . ack 1001 bits 1
        +0    < 90001:90101(100) ack 1     # beyond the window
        +0    > . ack 1001 bits 1
        +0    < . 1001:1001 ack 5          # of what was never sent
        +0    > . ack 1001 bits 1
        +500ms < S. 1001:1001 ack 1
        +0    > . ack 1001 bits 1
        +500ms < R. 1002:1002 ack 1
        +0    > . ack 1001 bits 1
        +0    < P 1001:1101(100)           # no ACK: dropped
        +0    < 2001:3001(1000) ack 1      # out of order
        +0    > . ack 1001 bits 2
        +0    < . 3001:3001 ack 1          # a pure ACK
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 3001 bits 4
        +0    < F. 3001:3001 ack 1
        +0    > . ack 3002 bits 5
        ",
    );
}

#[test]
fn a_segment_with_an_old_timestamp_is_not_shown() {
    counting(Open::Established, Config { timestamps: true, ..config() }).run(
        "
        +0    < 1:1001(1000) ack 1 <TS 100 0>
        +0    > . ack 1001 bits 1
        +0    < 1001:2001(1000) ack 1 <TS 99 0>
        +0    > . ack 1001 bits 1
        ",
    );
}

#[test]
fn the_handshake_is_not_shown_and_all_that_acknowledges_after_it_is() {
    counting(Open::Listen, config()).run(
        "
        +0    < S 0:0 win 4000 <mss 1000>
        +0    > S. 0:0 ack 1 bits 0
        +0    < . 1:1 ack 1                # ends the handshake
        +0    write 1000
        +0    > . 1:1001(1000) ack 1 bits 1
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 bits 2
        +1s   > . 1:1001(1000) ack 1001 bits 2
        +0    abort
        +0    > R. 1001:1001 ack 1001 bits 0
        ",
    );
    counting(Open::Connect, config()).run(
        "
        +0    > S 0:0 bits 0
        +0    < S. 0:0 ack 1 win 4000 <mss 1000>
        +0    > . 1:1 ack 1 bits 0
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 bits 1
        ",
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
fn a_segment_is_shown_before_it_is_processed_and_its_ack_after() {
    Script::established(config()).dress(|c| c.with_receiver_extension(Some(Box::<Before>::default()))).run(
        "
        +0    < 1:1001(1000) ack 1
        +0    > . ack 1001 bits 1
        +0    < 2001:3001(1000) ack 1
        +0    > . ack 1001 bits 2
        +0    < 3001:4001(1000) ack 1
        +0    > . ack 1001 bits 2
        +0    < 1001:2001(1000) ack 1
        +0    > . ack 4001 bits 1
        ",
    );
}

/// Limits the window to so many thousand octets as the reserved bits of the segment shown last say,
/// 7 for no limit; as late as it can.
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

fn limit(window: u32) -> Script {
    let config = Config { window, ..config() };
    Script::established(config).dress(|c| c.with_receiver_extension(Some(Box::<Limit>::default())))
}

//= RFC 9293, section 3.8.6: the right edge is never moved to the left.
#[test]
fn a_limit_is_reached_as_data_arrives_and_what_was_offered_stays_offered() {
    limit(5000).run(
        "
        +0    < 1:1001(1000) ack 1 bits 2
        +0    > . ack 1001 win 4000
        +0    < 1001:2001(1000) ack 1 bits 2
        +0    > . ack 2001 win 3000
        +0    < 2001:3001(1000) ack 1 bits 2
        +0    > . ack 3001 win 2000
        +0    < 3001:4001(1000) ack 1 bits 2
        +0    > . ack 4001 win 2000        # and no second ACK for what was read
        +0    < 4001:5001(1000) ack 1 bits 7
        +0    > . ack 5001 win 5000        # lifted
        +0    < 5001:6001(1000) ack 1 bits 6
        +0    > . ack 6001 win 5000        # the buffer's own bound
        ",
    );
}

#[test]
fn unread_data_counts_as_without_a_limit() {
    limit(5000).run(
        "
        +0    stall
        +0    < 1:3001(3000) ack 1 bits 3
        +0    > . ack 3001 win 2000        # what is free in the buffer is less than the limit
        +0    < 3001:5001(2000) ack 1 bits 3
        +0    > . ack 5001 win 0
        +0    read
        +0    > . ack 5001 win 3000
        ",
    );
}

#[test]
fn a_closed_window_is_probed_until_the_limit_is_raised() {
    limit(2000).run(
        "
        +0    < 1:2001(2000) ack 1 bits 0
        +0    > . ack 2001 win 0
        +1s   < 2001:2002(1) ack 1 bits 1  # outside the window: not shown
        +0    > . ack 2001 win 0
        +0    < . 2001:2001 ack 1 bits 1   # acceptable, but nothing is owed for it
        +1s   < 2001:2002(1) ack 1
        +0    > . ack 2001 win 1000
        ",
    );
}

#[test]
fn a_limit_is_told_in_units_of_a_scaled_window() {
    // A shift of 2. What was offered is used up first.
    limit(200_000).run(
        "
        +0    < 1:199001(199000) ack 1 bits 1
        +0    > . ack 199001 win 250
        +0    < 199001:199502(501) ack 1 bits 1
        +0    > . ack 199502 win 250
        ",
    );
}
