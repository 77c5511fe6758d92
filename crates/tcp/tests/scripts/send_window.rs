//! A sender that has only so much outstanding, as with a limited send buffer.

use lasthop_tcp::{Config, Recovery};

use crate::script::{Script, config};

fn two_segments() -> Config {
    Config { initial_window: 10, send_window: Some(2000), ..config() }
}

#[test]
fn no_more_is_outstanding_whatever_the_windows_are() {
    Script::established(two_segments()).run(
        "
        +0    write 20000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +10ms < . ack 1001
        +0    > 2001:3001(1000)
        +0    < . ack 3001
        +0    > 3001:4001(1000)
        +0    > 4001:5001(1000)
        +0    window 65535 cwnd 12000
        ",
    );
}

#[test]
fn a_part_of_a_segment_is_not_sent_to_fill_it() {
    Script::established(Config { send_window: Some(2500), ..two_segments() }).run(
        "
        +0    write 20000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        ",
    );
    Script::established(Config { send_window: Some(300), ..two_segments() }).run(
        "
        +0    write 20000
        +0    > 1:301(300)
        +0    < . ack 301
        +0    > 301:601(300)
        ",
    );
}

#[test]
fn in_recovery_no_new_data_goes_beyond_it() {
    let config = Config { send_window: Some(4000), recovery: Recovery::NewReno, ..two_segments() };
    Script::established(config).run(
        "
        +0    write 20000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +0    > 3001:4001(1000)
        +10ms < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    > 1:1001(1000)
        +0    < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +0    < . ack 1
        +10ms < . ack 4001
        +0    > 4001:5001(1000)
        +0    > 5001:6001(1000)
        +0    > 6001:7001(1000)
        +0    > 7001:8001(1000)
        ",
    );
}

/// The FIN has a number behind the data, and no octet in the buffer.
#[test]
fn the_fin_follows_the_last_octet() {
    Script::established(two_segments()).run(
        "
        +0    write 2000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    close
        +0    > F. 2001:2001
        ",
    );
}
