//! What is offered, whatever arrives, is read and is limited.

use lasthop_packet::{Payload, Seq};
use proptest::prelude::*;

use super::ReceiveSide;
use crate::config::AckPolicy;
use crate::connection::window_scale::{tellable, window_shift};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many octets come, if the window takes them, and are acknowledged.
    Arrive(u32),
    Read,
    Limit(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let limit = prop_oneof![Just(0), Just(u32::MAX), 0..300_000_u32];
    prop_oneof![
        4 => (0..3000_u32).prop_map(Step::Arrive),
        2 => Just(Step::Read),
        1 => limit.prop_map(Step::Limit),
    ]
}

proptest! {
    //= RFC 9293, section 3.8.6: "A TCP receiver SHOULD NOT shrink the window, i.e., move the right
    //= window edge to the left".
    #[test]
    fn the_right_edge_never_moves_to_the_left_and_opens_within_the_limit(
        buffer in 1..300_000_u32, irs: u32, steps in proptest::collection::vec(step(), 1..200),
    ) {
        let (buffer, shift) = (tellable(buffer), window_shift(buffer));
        let mut receive = ReceiveSide::new(buffer, AckPolicy::EverySegment);
        receive.set_mss(1000);
        receive.synchronize(Seq(irs), buffer);
        let mut limit = u32::MAX;
        let mut told = Seq(irs) + 1 + buffer;
        for step in steps {
            match step {
                Step::Arrive(len) => {
                    let payload = Payload::Stream { stream: 0, offset: 0, len: len.min(receive.window()) };
                    receive.take(receive.next(), &payload, false);
                }
                Step::Read => while receive.read().is_some() {},
                Step::Limit(octets) => {
                    limit = octets;
                    receive.limit_window(octets);
                }
            }
            let field = receive.advertise(shift);
            let edge = receive.next() + (u32::from(field) << shift);
            prop_assert!(!edge.before(told), "{edge} is before {told}");
            let opened = edge - told;
            // What was promised, rounded up to the unit of the field.
            if opened >= 1 << shift {
                prop_assert!(edge - receive.next() <= limit.min(buffer));
            }
            told = edge;
        }
    }
}
