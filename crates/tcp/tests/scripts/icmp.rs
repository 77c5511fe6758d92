//! Which ICMP messages are heard.
//!
//! //= RFC 5927, section 4.1: the number quoted must be that of a segment that is outstanding.

use lasthop_tcp::{Config, IcmpNotice, SenderControl, SenderExtension};

use crate::script::{Open, Script, config};

/// Sends again what an ICMP message is about.
struct Retransmit;

impl SenderExtension for Retransmit {
    fn on_icmp(&mut self, notice: IcmpNotice, sender: &mut SenderControl<'_>) {
        sender.retransmit(notice.seq);
    }
}

#[test]
fn only_a_quotation_of_an_outstanding_segment_of_this_connection_is_heard() {
    let config = Config { initial_window: 3, ..config() };
    Script::established(config).dress(|c| c.with_sender_extension(Some(Box::new(Retransmit)))).run(
        "
        +0    icmp 1
        +0    write 3000
        +0    > 1:1001(1000)
        +0    > 1001:2001(1000)
        +0    > 2001:3001(1000)
        +10ms < . ack 1001
        +0    icmp 1                       # acknowledged
        +0    icmp 3001                    # not sent yet
        +0    icmp 1001 foreign
        +0    icmp 1001 short
        +0    icmp_accepted 0
        +0    icmp 1001
        +0    > 1001:2001(1000)
        +0    icmp_accepted 1
        +0    abort
        +0    > R. 3001:3001
        +0    icmp 1001
        +0    icmp_accepted 1 timer none
        ",
    );
}

#[test]
fn without_a_scheme_it_changes_nothing() {
    Script::established(config()).run(
        "
        +0    write 3000
        +0    > 1:1001(1000)
        +10ms icmp 1
        +0    icmp_accepted 0 cwnd 1000 timer 990ms
        ",
    );
}

#[test]
fn the_handshake_is_deaf_to_it() {
    let script = Script::new(Open::Connect, config());
    script.dress(|c| c.with_sender_extension(Some(Box::new(Retransmit)))).run(
        "
        +0    > S 0:0
        +10ms icmp 0
        +0    icmp_accepted 0 state SynSent
        ",
    );
}
