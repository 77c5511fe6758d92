//! ACKs in the name of an end that may be gone.

use lasthop_agent::Side;
use lasthop_packet::Packet;

use super::bench::{Bench, Step, fixed, mobile};
use crate::edits::But as _;

/// An end that sends to the other one on the other side.
struct Transfer {
    from: Side,
    /// Segments of the sender, and of the other end: number, octets, and acknowledgment number.
    sends: fn(u32, u32, u32) -> Packet,
    answers: fn(u32, u32, u32) -> Packet,
    /// The initial numbers of both.
    first: u32,
    others: u32,
}

const TRANSFERS: [Transfer; 2] = [
    Transfer { from: Side::Core, sends: fixed, answers: mobile, first: 1001, others: 5001 },
    Transfer { from: Side::Radio, sends: mobile, answers: fixed, first: 5001, others: 1001 },
];

impl Transfer {
    /// The sender sends octets.
    fn send(&self, bench: &mut Bench, at: u32, len: u32) -> Step {
        give(bench, &(self.sends)(self.first + at, len, self.others), self.from)
    }

    /// The other end acknowledges this number of octets.
    fn answer(&self, bench: &mut Bench, octets: u32) -> Step {
        give(bench, &(self.answers)(self.others, 0, self.first + octets), self.from.opposite())
    }

    /// The packets to the sender in the half second after it sent octets.
    fn send_and_wait(&self, bench: &mut Bench, at: u32, len: u32) -> Vec<String> {
        let sent = self.send(bench, at, len).to(self.from);
        [sent, bench.wait(500).to(self.from)].concat()
    }

    /// An ACK of this number of octets to the sender.
    fn ack(&self, octets: u32) -> String {
        format!("A {}+0 ack {}", self.others, self.first + octets)
    }
}

fn give(bench: &mut Bench, packet: &Packet, from: Side) -> Step {
    match from {
        Side::Core => bench.core(packet),
        Side::Radio => bench.radio(packet),
    }
}

#[test]
fn data_to_a_live_end_is_acknowledged_in_its_name() {
    for way in TRANSFERS {
        let mut bench = Bench::split();
        assert_eq!(way.send_and_wait(&mut bench, 0, 100), [way.ack(100)]);
    }
}

/// The user time-out of the sender runs for all data that it has sent since.
#[test]
fn data_to_a_silent_end_is_acknowledged_once_it_answers() {
    for way in TRANSFERS {
        let mut bench = Bench::split();
        bench.wait(5000);
        let sent = way.send(&mut bench, 0, 100);
        assert_eq!((sent.to(way.from).len(), sent.to(way.from.opposite()).len()), (0, 1));
        assert_eq!(bench.wait(100).to(way.from), [""; 0]);
        assert_eq!(way.answer(&mut bench, 100).to(way.from), [way.ack(100)]);
        // Now it is known to be alive.
        assert_eq!(way.send_and_wait(&mut bench, 100, 100), [way.ack(200)]);
    }
}

#[test]
fn copies_of_unacknowledged_data_are_not_answered() {
    for way in TRANSFERS {
        let mut bench = Bench::split();
        bench.wait(5000);
        for _ in 0..10 {
            assert_eq!(way.send(&mut bench, 0, 100).to(way.from), [""; 0]);
            assert_eq!(bench.wait(1000).to(way.from), [""; 0]);
        }
    }
}

/// With data in flight, too: silence begins a little more than a second after the last answer.
#[test]
fn data_to_an_end_that_disappears_is_no_longer_acknowledged() {
    for way in TRANSFERS {
        let mut bench = Bench::split();
        let mut last = 0;
        for step in 0..40 {
            let sent = way.send(&mut bench, 100 * step, 100);
            let sent = [sent, bench.wait(100)];
            if sent.iter().any(|step| !step.to(way.from).is_empty()) {
                last = step;
            }
        }
        assert!((8..=22).contains(&last), "until {last}");
    }
}

/// All of its data is acknowledged, and it probes the other end.
#[test]
fn a_keepalive_is_answered_when_the_probed_end_has_answered() {
    for way in TRANSFERS {
        let mut bench = Bench::split();
        assert_eq!(way.send_and_wait(&mut bench, 0, 100), [way.ack(100)]);
        bench.wait(5000);
        // The other end does not have the data: this probe does not pass.
        for _ in 0..5 {
            let probe = way.send(&mut bench, 99, 0);
            assert_eq!((probe.is_forwarded(), probe.to(way.from).len()), (false, 0));
            assert_eq!(bench.wait(1000).to(way.from), [""; 0]);
        }
        assert_eq!(way.answer(&mut bench, 100).to(way.from), [way.ack(100)]);
    }
}

/// Its window is closed, its host is alive, and window probes have backed off.
#[test]
fn an_end_with_a_closed_window_is_probed_at_once() {
    for way in TRANSFERS {
        let mut bench = Bench::split();
        let closed = (way.answers)(way.others, 0, way.first).but(|tcp| tcp.window = 0);
        give(&mut bench, &closed, way.from.opposite());
        way.send(&mut bench, 0, 100);
        let mut answered = 0;
        for _ in 0..100 {
            for step in [way.send(&mut bench, 99, 0), bench.wait(1000)] {
                answered += step.to(way.from).len();
                for _ in step.to(way.from.opposite()) {
                    answered += give(&mut bench, &closed, way.from.opposite()).to(way.from).len();
                }
            }
        }
        assert!(answered >= 100, "{answered}");
    }
}

/// Outages of a hop that end within a second do not concern the sender.
#[test]
fn a_short_outage_is_invisible() {
    let way = &TRANSFERS[0];
    let mut bench = Bench::split();
    assert_eq!(way.send_and_wait(&mut bench, 0, 100), [way.ack(100)]);
    assert_eq!(way.send_and_wait(&mut bench, 100, 100), [way.ack(200)]);
}

/// Duplicate ACKs do not acknowledge anything in the other end's name.
#[test]
fn a_loss_triggers_duplicate_acks_at_once() {
    for way in TRANSFERS {
        let mut bench = Bench::split();
        bench.wait(5000);
        for at in [100, 200, 300] {
            assert_eq!(way.send(&mut bench, at, 100).to(way.from), [way.ack(0)]);
        }
        // With the gap filled there is data to acknowledge.
        assert_eq!(way.send(&mut bench, 0, 100).to(way.from), [""; 0]);
        assert_eq!(way.answer(&mut bench, 400).to(way.from), [way.ack(400)]);
    }
}
