//! What a scheme can do to the sender.

use lasthop_packet::Packet;
use lasthop_tcp::{
    Config, DuplicateAckResponse, IcmpNotice, Recovery, SenderControl, SenderExtension, TimeoutResponse,
};

use crate::script::{Open, Script, config};

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

fn scheme(window: u32) -> Script {
    scheme_over(Config { initial_window: window, max_timeouts: 2, ..config() })
}

fn scheme_over(config: Config) -> Script {
    Script::established(config).dress(|c| c.with_sender_extension(Some(Box::new(Scheme))))
}

#[test]
fn the_timer_can_be_postponed() {
    scheme(1).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        900ms icmp 1
        +0    timer 1s
        1.9s  > 1:1001(1000)
        ",
    );
}

#[test]
fn a_spared_time_out_retransmits_one_segment_and_leaves_window_and_rto() {
    scheme(3).run(
        "
        +0    write 3000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        1s    > 1:1001(1000)
        +0    cwnd 3000 ssthresh 65535 rto 1s timeouts 1 spared 1 nxt 3001
        2s    > 1:1001(1000)
        3s    > 1:1001(1000)
        +10ms < . ack 3001
        +0    cwnd 4000 srtt none state Established
        ",
    );
}

#[test]
fn recovery_without_reduction_gives_the_window_back() {
    scheme(5).run(
        "
        +0    write 9000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    cwnd 5000 ssthresh 65535 fast_retransmits 1
        +0    < . ack 1                    # from now on TCP's own recovery inflates
        +0    > 5001:6001(1000)
        +0    cwnd 6000
        +10ms < . ack 5001
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        +0    > 8001:9001(1000)
        +0    cwnd 5000 ssthresh 65535
        ",
    );
}

#[test]
fn recovery_without_reduction_gives_the_window_back_after_a_second_loss_too() {
    scheme_over(Config { initial_window: 5, recovery: Recovery::NewReno, ..config() }).run(
        "
        +0    write 9000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +10ms < . ack 3001                 # NewReno's partial ACK
        +0    > 3001:4001(1000)
        +0    > 5001:6001(1000)
        +0    cwnd 3000 ssthresh 65535
        +10ms < . ack 6001
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        +0    > 8001:9001(1000)
        +0    cwnd 5000 ssthresh 65535
        ",
    );
}

#[test]
fn sack_recovery_without_reduction_keeps_the_window_and_goes_by_the_pipe() {
    let config = Config { initial_window: 5, recovery: Recovery::Sack, sack: true, ..config() };
    scheme_over(config).run(
        "
        +0    write 9000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +10ms < . ack 1 <sack 1001:1002>
        +0    < . ack 1 <sack 1001:2001>
        +0    < . ack 1 <sack 1001:2002>
        +0    > 1:1001(1000)
        +0    cwnd 5000 ssthresh 65535 fast_retransmits 1
        +0    < . ack 1 <sack 1001:4001>   # in the network: 4001:5001 and the retransmission
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        +10ms < . ack 8001
        +0    > 8001:9001(1000)
        +0    cwnd 5000 ssthresh 65535 retransmits 1
        ",
    );
}

#[test]
fn tahoe_spared_a_loss_neither_begins_slow_start_nor_inflates() {
    scheme_over(Config { initial_window: 5, recovery: Recovery::Tahoe, ..config() }).run(
        "
        +0    write 9000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    < . ack 1
        +0    cwnd 5000 ssthresh 65535 nxt 5001
        +10ms < . ack 5001
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        +0    > 8001:9001(1000)
        +0    cwnd 6000
        ",
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
fn after_a_loss_was_spared_the_third_duplicate_is_no_loss_under_any_recovery() {
    for recovery in Recovery::ALL {
        let config = Config { initial_window: 5, recovery, sack: true, ..config() };
        Script::established(config).dress(|c| c.with_sender_extension(Some(Box::new(Early)))).run(
            "
            +0    write 5000
            +0    > 1:1001(1000)
            +0    > 1001:2001(1000)
            +0    > 2001:3001(1000)
            +0    > 3001:4001(1000)
            +0    > 4001:5001(1000)
            +10ms < . ack 1 <sack 1001:2001>
            +0    < . ack 1 <sack 1001:3001>
            +0    < . ack 1 <sack 1001:4001>
            +0    < . ack 1 <sack 1001:5001>
            +0    ssthresh 65535 nxt 5001 fast_retransmits 0 retransmits 0
            +10ms < . ack 5001
            +0    ssthresh 65535 fast_retransmits 0 timeouts 0
            ",
        );
    }
}

#[test]
fn a_time_out_in_such_a_recovery_gives_it_back_too() {
    scheme(4).run(
        "
        +0    write 4000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    < . ack 1
        +0    cwnd 5000
        1.01s > 1:1001(1000)
        +0    cwnd 4000 spared 1
        ",
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
fn what_is_asked_for_twice_leaves_once_and_no_timer_runs_for_nothing() {
    let config = Config { initial_window: 4, ..config() };
    Script::established(config).dress(|c| c.with_sender_extension(Some(Box::new(Eager)))).run(
        "
        +0    write 4000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +10ms < . ack 1
        +0    > 1:1001(1000)
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    < . ack 1                    # with TCP's own fast retransmission
        +0    > 1:1001(1000)
        +10ms < . ack 4001
        +0    timer none srtt none
        ",
    );
}

/// Goes by the reserved bits of ACKs alone: with 1, a third duplicate is no congestion; with 2, the
/// oldest segment goes again; with 4, it is not the receiver's.
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

fn reader(open: Open) -> Script {
    let config = Config { initial_window: 5, ..config() };
    Script::new(open, config).dress(|c| c.with_sender_extension(Some(Box::<Reader>::default())))
}

#[test]
fn what_an_ack_says_is_known_when_it_turns_out_to_be_a_duplicate() {
    for (last, ssthresh) in [(1, 65_535), (0, 2000)] {
        reader(Open::Established).run(&format!(
            "
            +0    write 5000
            +0    > 1:1001(1000)
            +0    > 1001:2001(1000)
            +0    > 2001:3001(1000)
            +0    > 3001:4001(1000)
            +0    > 4001:5001(1000)
            +10ms < . ack 1
            +0    < . ack 1
            +0    < . ack 1 bits {last}
            +0    > 1:1001(1000)
            +0    ssthresh {ssthresh} fast_retransmits 1
            "
        ));
    }
}

#[test]
fn what_is_not_from_the_receiver_is_no_duplicate() {
    reader(Open::Established).run(
        "
        +0    write 5000
        +0    >> 1:5001(5000)
        +10ms < . ack 1
        +0    < . ack 1 bits 4
        +0    < . ack 1
        +0    < . ack 1 bits 4
        +0    fast_retransmits 0
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    ssthresh 2000 fast_retransmits 1
        ",
    );
}

#[test]
fn every_ack_that_counts_is_shown_before_it_is_processed_and_no_other() {
    reader(Open::Established).run(
        "
        +0    write 3000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +10ms < . ack 1 bits 2
        +0    > 1:1001(1000)
        +0    < . ack 1001 bits 2          # what was the oldest segment then is acknowledged with it
        +0    < 1:101(100) ack 1001 bits 2
        +0    > 1001:2001(1000) ack 101
        +0    < 1:101(100) ack 1001 bits 2 # known already: what it acknowledges counts
        +0    > 1001:2001(1000) ack 101
        +0    < . 101:101 ack 3002 bits 2  # of what was never sent
        +0    > . 3001:3001 ack 101
        +0    < . 90000:90000 ack 1001 bits 2 # answered no sooner than half a second later
        +0    < . 1:1 ack 1001 bits 2      # bare, from before that data
        +500ms < S. 101:101 ack 1001 bits 2
        +0    > . 3001:3001 ack 101
        +0    < R. 102:102 ack 1001 bits 2 # nor this
        ",
    );
}
