//! The tail loss probe (TLP, RFC 8985, section 7).

use lasthop_tcp::{Config, RackConfig, RtoRule};

use crate::script::{ALONE, Script, rack};

/// With probes, after one round trip of 100 ms; RTO is a second.
fn run(text: &str) {
    with(rack(RackConfig { tail_loss_probe: true, ..ALONE }), text);
}

fn with(config: Config, text: &str) {
    Script::established(config).run(&format!(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +100ms < . ack 1001
        +0    srtt 100ms rto 1s cwnd 11000
        {text}"
    ));
}

//= RFC 8985, section 7.2: "PTO = 2 * SRTT"; section 7.3: "Retransmit the highest-sequence Segment sent". Linux adds two ticks of its
//= clock.
#[test]
fn after_two_round_trips_without_an_ack_the_last_segment_goes_again() {
    run("
        +0    write 4000
        +0    >> 1001:5001(4000)
        +0    reason tail-loss-probe timer 202ms
        +202ms > 4001:5001(1000)
        +0    tail_loss_probes 1 timeouts 0 cwnd 11000 fast_retransmits 0
        ");
}

//= RFC 8985, section 7.2: "If FlightSize is one segment: PTO += TLP.max_ack_delay".
#[test]
fn one_segment_waits_for_a_delayed_ack_too() {
    run("
        +0    write 1000
        +0    > 1001:2001(1000)
        +0    reason tail-loss-probe timer 400ms
        +400ms > 1001:2001(1000)
        +0    tail_loss_probes 1
        ");
}

//= RFC 8985, section 7.2: without a round-trip time "PTO = 1 sec", and "PTO = TCP_RTO_expiration() - Now()" if that is sooner.
#[test]
fn without_a_round_trip_time_it_waits_a_second_and_no_longer_than_rto() {
    let config = rack(RackConfig { tail_loss_probe: true, ..ALONE });
    Script::established(config.clone()).run(
        "
        +0    write 2000
        +0    >> 1:2001(2000)
        +1s   > 1001:2001(1000)
        +0    tail_loss_probes 1 timeouts 0 reason retransmission-timer timer 1s
        ",
    );
    let mut sooner = config;
    sooner.rto.initial = std::time::Duration::from_millis(600);
    sooner.rto.minimum = std::time::Duration::from_millis(600);
    Script::established(sooner).run(
        "
        +0    write 2000
        +0    >> 1:2001(2000)
        +600ms > 1001:2001(1000)
        +0    tail_loss_probes 1 timeouts 0
        ",
    );
}

//= RFC 8985, section 7.3: "Transmit the lowest-sequence unsent Segment", whatever cwnd says.
#[test]
fn new_data_goes_before_old() {
    run("
        +0    write 30000
        +0    >> 1001:12001(11000)
        +202ms > 12001:13001(1000)
        +0    tail_loss_probes 1 retransmits 0 cwnd 11000
        +100ms < . ack 1001 <sack 12001:13001>
        +0    >> 1001:6001(5000)
        +0    lost 11000 fast_retransmits 1 timeouts 0
        ");
}

//= RFC 8985, section 7.3: new data goes only if it "fits the peer receive window limit".
#[test]
fn where_the_window_of_the_receiver_has_no_room_old_data_goes() {
    Script::established(rack(RackConfig { tail_loss_probe: true, ..ALONE })).peer_window(3000).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +100ms < . ack 1001 win 3000
        +0    write 30000
        +0    >> 1001:4001(3000)
        +202ms > 3001:4001(1000)
        +0    tail_loss_probes 1
        ",
    );
}

//= RFC 8985, section 7.3: "there is no other previous loss probe still in flight"; "the sender MUST re-arm the RTO timer, not the PTO
//= timer".
#[test]
fn one_probe_is_followed_by_the_retransmission_timer() {
    run("
        +0    write 4000
        +0    >> 1001:5001(4000)
        +202ms > 4001:5001(1000)
        +0    reason retransmission-timer timer 1s
        +1s   > 1001:2001(1000)
        +0    timeouts 1 tail_loss_probes 1
        ");
}

//= RFC 8985, section 7.2: not "in fast recovery, RTO recovery, or" while segments are reported behind a gap.
#[test]
fn no_probe_goes_in_recovery() {
    run("
        +0    write 4000
        +0    >> 1001:5001(4000)
        +100ms < . ack 1001 <sack 2001:5001>
        +0    > 1001:2001(1000)
        +0    reason retransmission-timer
        +900ms tail_loss_probes 0
        +100ms > 1001:2001(1000)
        +0    tail_loss_probes 0 timeouts 1
        ");
}

//= RFC 8985, section 7.2: "the sender SHOULD start or restart a loss probe PTO timer after transmitting new data" and upon
//= "an ACK that cumulatively acknowledges new data".
#[test]
fn an_ack_of_new_data_starts_the_timer_again() {
    run("
        +0    write 4000
        +0    >> 1001:5001(4000)
        +150ms < . ack 3001
        +0    reason tail-loss-probe timer 214.5ms
        +0    srtt 106.25ms
        ");
}

//= RFC 8985, section 7.4.2, case 1: a D-SACK shows that "both the original segment and TLP retransmission arrived at the receiver".
#[test]
fn a_probe_that_the_receiver_had_already_costs_nothing() {
    run("
        +0    write 4000
        +0    >> 1001:5001(4000)
        +202ms > 4001:5001(1000)
        +10ms < . ack 5001
        +100ms < . ack 5001 <sack 4001:5001>
        +0    write 2000
        +0    >> 5001:7001(2000)
        +100ms < . ack 7001
        +0    ssthresh 65535 fast_retransmits 0
        ");
}

//= RFC 8985, section 7.4.2, case 2: "Else If ACK is a DupAck without any SACK option".
#[test]
fn a_bare_duplicate_ack_of_a_probe_costs_nothing() {
    run("
        +0    write 4000
        +0    >> 1001:5001(4000)
        +202ms > 4001:5001(1000)
        +0    write 1000
        +0    > 5001:6001(1000)
        +10ms < . ack 5001
        +10ms < . ack 5001
        +100ms < . ack 6001
        +0    ssthresh 65535 fast_retransmits 0
        ");
}

//= RFC 8985, section 7.4.2: "Else If ACK's ack. number > TLP.end_seq": "Repaired the single loss": congestion control hears of it.
#[test]
fn a_loss_that_a_probe_repaired_reduces_the_window_once() {
    run("
        +0    write 4000
        +0    >> 1001:5001(4000)
        +202ms > 4001:5001(1000)
        +100ms < . ack 5001
        +0    ssthresh 65535 cwnd 15000
        +0    write 8000
        +0    >> 5001:13001(8000)
        +100ms < . ack 6001
        +0    ssthresh 7000 cwnd 7000
        +0    < . ack 13001
        +0    ssthresh 7000 cwnd 8000 fast_retransmits 0
        ");
}

//= RFC 8985, section 7.4.2: the D-SACK has to be "matching TLP.end_seq".
#[test]
fn a_duplicate_of_another_segment_says_nothing_of_the_probe() {
    run("
        +0    write 4000
        +0    >> 1001:5001(4000)
        +202ms > 4001:5001(1000)
        +100ms < . ack 5001
        +0    < . ack 5001 <sack 1001:2001>
        +0    write 1000
        +0    > 5001:6001(1000)
        +100ms < . ack 6001
        +0    ssthresh 7000
        ");
}

//= RFC 8985, section 7.1: "Reset TLP.is_retrans and TLP.end_seq when initiating a connection, fast recovery, or RTO recovery."
#[test]
fn after_a_time_out_the_probe_reduces_nothing_a_second_time() {
    run("
        +0    write 4000
        +0    >> 1001:5001(4000)
        +202ms > 4001:5001(1000)
        +1s   > 1001:2001(1000)
        +0    timeouts 1 ssthresh 5000
        +100ms < . ack 5001
        +0    write 1000
        +0    > 5001:6001(1000)
        +0    reason tail-loss-probe
        +100ms < . ack 6001
        +0    ssthresh 5000
        ");
}

//= RFC 8985, section 7.1, as above.
#[test]
fn in_fast_recovery_the_probe_is_forgotten_too() {
    run("
        +0    write 4000
        +0    >> 1001:5001(4000)
        +202ms > 4001:5001(1000)
        +100ms < . ack 1001 <sack 4001:5001>
        +0    >> 1001:4001(3000)
        +0    fast_retransmits 1 ssthresh 5000
        +100ms < . ack 5001
        +0    write 1000
        +0    > 5001:6001(1000)
        +100ms < . ack 6001
        +0    ssthresh 5000
        ");
}

//= RFC 8985, section 6.2, step 4, as in Linux: what a probe doubled is no sign of a window that was too small.
#[test]
fn a_duplicate_of_a_probe_does_not_widen_the_reordering_window() {
    run("
        +0    write 3000
        +0    >> 1001:4001(3000)
        +100ms < . ack 1001 <sack 2001:3001>
        +10ms < . ack 4001                        # reordering
        +0    write 2000
        +0    >> 4001:6001(2000)
        +204.5ms > 5001:6001(1000)
        +10ms < . ack 6001 <sack 5001:6001>
        +0    write 2000
        +0    >> 6001:8001(2000)
        +100ms < . ack 6001 <sack 7001:8001>
        +0    reason reordering-window timer 25ms
        +25ms > 6001:7001(1000)
        ");
}

// The kernel's test `cubic-rto-ss-ca-cwnd-bump` has the same: where RTO is sooner than PTO, the probe goes in its place, and RTO
// follows as long after it.
#[test]
fn where_rto_is_sooner_the_probe_takes_its_place() {
    let mut config = rack(RackConfig { tail_loss_probe: true, ..ALONE });
    config.rto.rule = RtoRule::Linux;
    config.rto.minimum = std::time::Duration::from_millis(200);
    Script::established(config).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        +100ms < . ack 1001
        +0    rto 300ms
        +0    write 1000
        +0    > 1001:2001(1000)
        +300ms > 1001:2001(1000)
        +0    tail_loss_probes 1 timeouts 0
        +300ms > 1001:2001(1000)
        +0    timeouts 1
        +100ms < . ack 2001
        +0    cwnd 2000 ssthresh 5000
        ",
    );
}

//= RFC 8985, section 7.2: no probe where the scoreboard has reports: there the reordering timer finds what is lost.
#[test]
fn a_report_takes_the_probe_s_place() {
    run("
        +0    write 11000
        +0    >> 1001:12001(11000)
        +0    reason tail-loss-probe timer 202ms
        +201ms < . ack 1001 <sack 2001:3001>
        +0    reason reordering-window timer 25ms
        +25ms > 1001:2001(1000)
        +0    tail_loss_probes 0 fast_retransmits 1
        ");
}
