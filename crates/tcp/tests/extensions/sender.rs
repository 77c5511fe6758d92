//! What a scheme can do to the sender.

use lasthop_packet::Packet;
use lasthop_tcp::{DuplicateAckResponse, IcmpNotice, SenderControl, SenderExtension, TimeoutResponse};

use crate::run_sender;

/// Does one thing in each hook.
struct Scheme;

impl SenderExtension for Scheme {
    fn on_icmp(&mut self, _: IcmpNotice, sender: &mut SenderControl<'_>) {
        let una = sender.flight().una;
        if sender.timer_runs_for(una) {
            sender.restart_timer();
        }
    }

    fn on_duplicate_ack(&mut self, count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        let cwnd = sender.flight().cwnd;
        match count {
            3 => DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: true },
            _ => DuplicateAckResponse::Standard,
        }
    }

    fn on_timeout(&mut self, _: &mut SenderControl<'_>) -> TimeoutResponse {
        TimeoutResponse::RetransmitOnly
    }
}

#[test]
fn the_timer_can_be_postponed() {
    run_sender(
        r#"
        --open=established --config="reno max_timeouts=2"
        +0     write(3, ..., 1000) = 1000
        +0     > P. 1:1001(1000) ack 1
        .9     < icmp unreachable host_unreachable [1:1(0)]
        +0     %{ assert timer == 1000000 }%
        1.9    > P. 1:1001(1000) ack 1
        "#,
        || Scheme,
    );
}

#[test]
fn retransmit_only_keeps_window_and_rto() {
    run_sender(
        r#"
        --open=established --config="reno initial_window=3 max_timeouts=2"
        +0     write(3, ..., 3000) = 3000
        +0     > P. 1:3001(3000) ack 1
        1      > . 1:1001(1000) ack 1
        +0     %{ assert cwnd == 3000 and ssthresh == 65535 and tcpi_rto == 1000000 and timeouts == 1 and timeouts_spared == 1 and nxt == 3001 }%
        2      > . 1:1001(1000) ack 1
        3      > . 1:1001(1000) ack 1
        +.01   < . 1:1(0) ack 3001 win 65535
        +0     %{ assert cwnd == 4000 and tcpi_rtt == 0 and tcpi_state == TCP_ESTABLISHED }%
        "#,
        || Scheme,
    );
}

#[test]
fn recovery_without_reduction_restores_the_window() {
    run_sender(
        r#"
        --open=established --config="reno initial_window=5 max_timeouts=2"
        +0     write(3, ..., 9000) = 9000
        +0     > . 1:5001(5000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535
        +0     > . 1:1001(1000) ack 1
        +0     %{ assert cwnd == 5000 and ssthresh == 65535 and fast_retransmits == 1 }%
        +0     < . 1:1(0) ack 1 win 65535  // from now on TCP's own recovery inflates
        +0     > . 5001:6001(1000) ack 1
        +0     %{ assert cwnd == 6000 }%
        +.01   < . 1:1(0) ack 5001 win 65535
        +0     > P. 6001:9001(3000) ack 1
        +0     %{ assert cwnd == 5000 and ssthresh == 65535 }%
        "#,
        || Scheme,
    );
}

#[test]
fn recovery_without_reduction_restores_the_window_after_a_second_loss() {
    run_sender(
        r#"
        --open=established --config="reno recovery=NewReno initial_window=5"
        +0     write(3, ..., 9000) = 9000
        +0     > . 1:5001(5000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535
        +0     > . 1:1001(1000) ack 1
        +.01   < . 1:1(0) ack 3001 win 65535  // NewReno's partial ACK
        +0     > . 3001:4001(1000) ack 1
        +0     > . 5001:6001(1000) ack 1
        +0     %{ assert cwnd == 3000 and ssthresh == 65535 }%
        +.01   < . 1:1(0) ack 6001 win 65535
        +0     > P. 6001:9001(3000) ack 1
        +0     %{ assert cwnd == 5000 and ssthresh == 65535 }%
        "#,
        || Scheme,
    );
}

#[test]
fn sack_recovery_without_reduction_keeps_the_window_and_uses_the_pipe() {
    run_sender(
        r#"
        --open=established --config="reno sack recovery=Sack initial_window=5"
        +0     write(3, ..., 9000) = 9000
        +0     > . 1:5001(5000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535 <nop,nop,sack 1001:1002>
        +0     < . 1:1(0) ack 1 win 65535 <nop,nop,sack 1001:2001>
        +0     < . 1:1(0) ack 1 win 65535 <nop,nop,sack 1001:2002>
        +0     > . 1:1001(1000) ack 1
        +0     %{ assert cwnd == 5000 and ssthresh == 65535 and fast_retransmits == 1 }%
        +0     < . 1:1(0) ack 1 win 65535 <nop,nop,sack 1001:4001>  // in the network: 4001:5001 and the retransmission
        +0     > . 5001:8001(3000) ack 1
        +.01   < . 1:1(0) ack 8001 win 65535
        +0     > P. 8001:9001(1000) ack 1
        +0     %{ assert cwnd == 5000 and ssthresh == 65535 and tcpi_total_retrans == 1 }%
        "#,
        || Scheme,
    );
}

#[test]
fn tahoe_recovery_without_reduction_has_neither_slow_start_nor_inflation() {
    run_sender(
        r#"
        --open=established --config="reno recovery=Tahoe initial_window=5"
        +0     write(3, ..., 9000) = 9000
        +0     > . 1:5001(5000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535
        +0     > . 1:1001(1000) ack 1
        +0     < . 1:1(0) ack 1 win 65535
        +0     %{ assert cwnd == 5000 and ssthresh == 65535 and nxt == 5001 }%
        +.01   < . 1:1(0) ack 5001 win 65535
        +0     > P. 5001:9001(4000) ack 1
        +0     %{ assert cwnd == 6000 }%
        "#,
        || Scheme,
    );
}

/// Knows with the first duplicate ACK, and has sent the segment again itself.
struct Early;

impl SenderExtension for Early {
    fn on_duplicate_ack(&mut self, count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        let cwnd = sender.flight().cwnd;
        match count {
            1 => DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: false },
            _ => DuplicateAckResponse::Standard,
        }
    }
}

#[test]
fn after_recovery_without_reduction_a_third_duplicate_is_no_loss() {
    for config in [
        "reno sack recovery=Tahoe",
        "reno sack",
        "reno sack recovery=NewReno",
        "reno sack recovery=Sack",
        "rack congestion=Reno slow_start_limit=none tail_loss_probe proportional_reduction f_rto undo rto_granularity=1ms",
    ] {
        run_sender(
            &format!(
                r#"
        --open=established --config="{config} initial_window=5"
        +0     write(3, ..., 5000) = 5000
        +0     > P. 1:5001(5000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535 <nop,nop,sack 1001:2001>
        +0     < . 1:1(0) ack 1 win 65535 <nop,nop,sack 1001:3001>
        +0     < . 1:1(0) ack 1 win 65535 <nop,nop,sack 1001:4001>
        +0     < . 1:1(0) ack 1 win 65535 <nop,nop,sack 1001:5001>
        +0     %{{ assert ssthresh == 65535 and nxt == 5001 and fast_retransmits == 0 and tcpi_total_retrans == 0 }}%
        +.01   < . 1:1(0) ack 5001 win 65535
        +0     %{{ assert ssthresh == 65535 and fast_retransmits == 0 and timeouts == 0 }}%
        "#
            ),
            || Early,
        );
    }
}

#[test]
fn a_time_out_in_recovery_without_reduction_restores_the_window() {
    run_sender(
        r#"
        --open=established --config="reno initial_window=4 max_timeouts=2"
        +0     write(3, ..., 4000) = 4000
        +0     > P. 1:4001(4000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535
        +0     > . 1:1001(1000) ack 1
        +0     < . 1:1(0) ack 1 win 65535
        +0     %{ assert cwnd == 5000 }%
        1.01   > . 1:1001(1000) ack 1
        +0     %{ assert cwnd == 4000 and timeouts_spared == 1 }%
        "#,
        || Scheme,
    );
}

/// Asks for the same retransmission over and over, and plays with the timer when nothing is
/// outstanding.
struct Eager;

impl SenderExtension for Eager {
    fn on_new_ack(&mut self, sender: &mut SenderControl<'_>) {
        sender.restart_timer();
    }

    fn on_duplicate_ack(&mut self, _: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        let una = sender.flight().una;
        sender.retransmit(una);
        sender.retransmit(una);
        sender.retransmit(una + 100_000);
        DuplicateAckResponse::Standard
    }
}

#[test]
fn a_retransmission_requested_twice_is_sent_once() {
    run_sender(
        r#"
        --open=established --config="reno initial_window=4"
        +0     write(3, ..., 4000) = 4000
        +0     > P. 1:4001(4000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535
        +0     > . 1:1001(1000) ack 1
        +0     < . 1:1(0) ack 1 win 65535
        +0     > . 1:1001(1000) ack 1
        +0     < . 1:1(0) ack 1 win 65535  // with TCP's own fast retransmission
        +0     > . 1:1001(1000) ack 1
        +.01   < . 1:1(0) ack 4001 win 65535
        +0     %{ assert timer == -1 and tcpi_rtt == 0 }%
        "#,
        || Eager,
    );
}

/// Uses only the reserved bits of ACKs: with 1, a third duplicate is no congestion; with 2, the oldest
/// segment is retransmitted; with 4, the ACK is not from the receiver.
#[derive(Default)]
struct Reader(u8);

impl SenderExtension for Reader {
    fn on_ack(&mut self, ack: &Packet, sender: &mut SenderControl<'_>) {
        self.0 = ack.tcp_reserved_bits();
        if self.0 == 2 {
            sender.retransmit(sender.flight().una);
        }
    }

    fn on_duplicate_ack(&mut self, count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        match (count, self.0) {
            (3, 1) => {
                let cwnd = sender.flight().cwnd;
                DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: true }
            }
            (_, 4) => DuplicateAckResponse::Ignore,
            _ => DuplicateAckResponse::Standard,
        }
    }
}

#[test]
fn on_ack_is_called_before_on_duplicate_ack() {
    run_sender(
        r#"
        --open=established --config="reno initial_window=5"
        +0     write(3, ..., 5000) = 5000
        +0     > P. 1:5001(5000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535 bits 1
        +0     > . 1:1001(1000) ack 1
        +0     %{ assert ssthresh == 65535 and fast_retransmits == 1 }%
        "#,
        Reader::default,
    );
    run_sender(
        r#"
        --open=established --config="reno initial_window=5"
        +0     write(3, ..., 5000) = 5000
        +0     > P. 1:5001(5000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535 bits 0
        +0     > . 1:1001(1000) ack 1
        +0     %{ assert ssthresh == 2000 and fast_retransmits == 1 }%
        "#,
        Reader::default,
    );
}

#[test]
fn an_ignored_duplicate_does_not_count() {
    run_sender(
        r#"
        --open=established --config="reno initial_window=5"
        +0     write(3, ..., 5000) = 5000
        +0     > P. 1:5001(5000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535 bits 4
        +0     < . 1:1(0) ack 1 win 65535
        +0     < . 1:1(0) ack 1 win 65535 bits 4
        +0     %{ assert fast_retransmits == 0 }%
        +0     < . 1:1(0) ack 1 win 65535
        +0     > . 1:1001(1000) ack 1
        +0     %{ assert ssthresh == 2000 and fast_retransmits == 1 }%
        "#,
        Reader::default,
    );
}

#[test]
fn on_ack_is_called_for_valid_acks_only_before_they_are_processed() {
    run_sender(
        r#"
        --open=established --config="reno initial_window=5"
        +0     write(3, ..., 3000) = 3000
        +0     > P. 1:3001(3000) ack 1
        +.01   < . 1:1(0) ack 1 win 65535 bits 2
        +0     > . 1:1001(1000) ack 1
        +0     < . 1:1(0) ack 1001 win 65535 bits 2  // what was the oldest segment then is acknowledged with it
        +0     < . 1:101(100) ack 1001 win 65535 bits 2
        +0     > . 1001:2001(1000) ack 101
        +0     < . 1:101(100) ack 1001 win 65535 bits 2  // known already: what it acknowledges counts
        +0     > . 1001:2001(1000) ack 101
        +0     < . 101:101(0) ack 3002 win 65535 bits 2  // of what was never sent
        +0     > . 3001:3001(0) ack 101
        +0     < . 90000:90000(0) ack 1001 win 65535 bits 2  // answered no sooner than half a second later
        +0     < . 1:1(0) ack 1001 win 65535 bits 2  // bare, from before that data
        +.5    < S. 101:101(0) ack 1001 win 65535 bits 2
        +0     > . 3001:3001(0) ack 101
        +0     < R. 102:102(0) ack 1001 win 65535 bits 2  // nor this
        "#,
        Reader::default,
    );
}
