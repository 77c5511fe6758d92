//! The retransmission time-out.
//!
//! //= RFC 6298, section 2: SRTT, RTTVAR, minimum, granularity.

use std::time::Duration;

use lasthop_tcp::{Config, RtoConfig};

use crate::script::{Script, config, rto};

#[test]
fn the_initial_value_holds_until_the_first_sample() {
    Script::established(Config { rto: rto(3000, 200, 1), ..config() }).run(
        "
        +0    write 2000
        +0    > 1:1001(1000)
        +0    timer 3s rto 3s
        +400ms < . ack 1001
        +0    > 1001:2001(1000)
        +0    srtt 400ms rto 1.2s timer 1.2s
        ",
    );
}

#[test]
fn the_minimum_holds() {
    Script::established(Config { rto: rto(3000, 1000, 1), ..config() }).run(
        "
        +0    write 2000
        +0    > 1:1001(1000)
        +10ms < . ack 1001
        +0    > 1001:2001(1000)
        +0    srtt 10ms rto 1s timer 1s
        ",
    );
}

#[test]
fn a_coarse_clock_counts_ticks_and_expires_on_one() {
    Script::established(Config { rto: rto(3000, 1000, 500), ..config() }).run(
        "
        +200ms write 3000
        +0    > 1:1001(1000)
        +0    timer 3.3s                   # 3.2 s, on the next tick
        +100ms < . ack 1001
        +0    srtt 0ns rto 1s
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        1.5s  > 1001:2001(1000)
        ",
    );
}

#[test]
fn the_maximum_holds() {
    let rto = RtoConfig { maximum: Duration::from_secs(2), ..rto(1000, 1000, 1) };
    Script::established(Config { rto, ..config() }).run(
        "
        +0    write 1000
        +0    > 1:1001(1000)
        1s    > 1:1001(1000)
        3s    > 1:1001(1000)
        5s    > 1:1001(1000)
        ",
    );
}
