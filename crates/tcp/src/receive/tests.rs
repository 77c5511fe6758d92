//! What is offered, whatever arrives, is read and is limited.

use std::time::Duration;

use lasthop_packet::{Instant, Payload, Seq, Tcp, TcpFlags};
use proptest::prelude::*;

use super::{Arrival, Echo, ReceiveSide};
use crate::config::{AckPolicy, Config};
use crate::receive::{expressible, window_shift};
use crate::rtt::RtoConfig;
use crate::rtt::RttEstimator;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many octets come, if the window takes them, and are acknowledged.
    Arrive(u32),
    /// The same, this number of octets later.
    ArriveAhead(u32, u32),
    Read,
    Limit(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let limit = prop_oneof![Just(0), Just(u32::MAX), 0..300_000_u32];
    prop_oneof![
        4 => (0..3000_u32).prop_map(Step::Arrive),
        1 => (0..3000_u32, 1..5000_u32).prop_map(|(len, ahead)| Step::ArriveAhead(len, ahead)),
        2 => Just(Step::Read),
        1 => limit.prop_map(Step::Limit),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let ack_policy = prop_oneof![Just(AckPolicy::EverySegment), Just(AckPolicy::Linux)];
    let largest = prop::option::of(1..3_000_000_u32);
    (1..300_000_u32, largest, ack_policy, any::<[bool; 2]>()).prop_map(
        |(window, window_max, ack_policy, [ack_compression, dsack])| Config {
            window,
            window_max,
            dsack,
            ack_policy,
            ack_compression,
            ..Config::default()
        },
    )
}

proptest! {
    //= RFC 9293, section 3.8.6: "A TCP receiver SHOULD NOT shrink the window, i.e., move the right
    //= window edge to the left".
    #[test]
    fn the_right_edge_never_moves_to_the_left_and_opens_within_the_limit(
        config in config(), irs: u32, steps in proptest::collection::vec(step(), 1..200),
    ) {
        let largest = config.largest_window();
        let shift = window_shift(largest);
        let buffer = expressible(config.window, shift);
        let rtt = RttEstimator::new(RtoConfig::default());
        let mut receive = ReceiveSide::new(buffer, &config);
        receive.synchronize(Seq(irs), buffer);
        receive.begin(1000, true);
        let mut limit = u32::MAX;
        let mut advertised = Seq(irs) + 1 + buffer;
        let mut now = Instant::ZERO;
        for step in steps {
            now += Duration::from_millis(5);
            let mut arrive = |len: u32, ahead: u32| {
                let seq = receive.next() + ahead.min(receive.window());
                let payload = Payload::Stream { stream: 0, offset: 0, len: len.min(receive.window()) };
                let tcp = Tcp { seq, flags: TcpFlags::ACK, ..Tcp::default() };
                let clock = now.as_millis() as u32;
                let echo = Some(Echo { value: clock.wrapping_sub(20), age: 20 });
                receive.take(&Arrival { tcp: &tcp, payload: &payload, now, echo, ack_due: None, rtt: &rtt });
            };
            match step {
                Step::Arrive(len) => arrive(len, 0),
                Step::ArriveAhead(len, ahead) => arrive(len, ahead),
                Step::Read => while receive.read().is_some() {},
                Step::Limit(octets) => {
                    limit = octets;
                    receive.limit_window(octets);
                }
            }
            receive.acknowledged();
            let field = receive.advertise(shift);
            let edge = receive.next() + (u32::from(field) << shift);
            prop_assert!(!edge.before(advertised), "{edge} is before {advertised}");
            let opened = edge - advertised;
            // What was promised, rounded up to the unit of the field.
            if opened >= 1 << shift {
                prop_assert!(edge - receive.next() <= limit.min(largest));
            }
            advertised = edge;
        }
    }
}
