//! What is said in the name of an end that may be gone.

use lasthop_agent::Side;
use lasthop_packet::Packet;

use super::bench::{Bench, Step, fixed, mobile};
use crate::edits::But as _;

/// An end that sends to the other one, which is on the other side.
struct Way {
    from: Side,
    /// Segments of the end that sends, and of the other one: number, octets, and what they acknowledge.
    sends: fn(u32, u32, u32) -> Packet,
    answers: fn(u32, u32, u32) -> Packet,
    /// The first numbers of both.
    first: u32,
    others: u32,
}

const WAYS: [Way; 2] = [
    Way { from: Side::Core, sends: fixed, answers: mobile, first: 1001, others: 5001 },
    Way { from: Side::Radio, sends: mobile, answers: fixed, first: 5001, others: 1001 },
];

impl Way {
    /// Octets come from the end that sends.
    fn send(&self, bench: &mut Bench, at: u32, len: u32) -> Step {
        give(bench, &(self.sends)(self.first + at, len, self.others), self.from)
    }

    /// The other end acknowledges so many octets.
    fn answer(&self, bench: &mut Bench, octets: u32) -> Step {
        give(bench, &(self.answers)(self.others, 0, self.first + octets), self.from.opposite())
    }

    /// What the end that sends hears when octets of it come, in half a second.
    fn send_and_wait(&self, bench: &mut Bench, at: u32, len: u32) -> Vec<String> {
        let sent = self.send(bench, at, len).to(self.from);
        [sent, bench.wait(500).to(self.from)].concat()
    }

    /// An ACK of so many octets to the end that sends.
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
fn an_end_that_is_there_is_spoken_for() {
    for way in WAYS {
        let mut bench = Bench::split();
        assert_eq!(way.send_and_wait(&mut bench, 0, 100), [way.ack(100)]);
    }
}

/// The user time-out of the end that sends runs for all that it has sent since.
#[test]
fn what_comes_for_an_end_that_was_not_heard_from_lately_is_acknowledged_when_that_answers() {
    for way in WAYS {
        let mut bench = Bench::split();
        bench.wait(5000);
        let sent = way.send(&mut bench, 0, 100);
        assert_eq!((sent.to(way.from).len(), sent.to(way.from.opposite()).len()), (0, 1));
        assert_eq!(bench.wait(100).to(way.from), [""; 0]);
        assert_eq!(way.answer(&mut bench, 100).to(way.from), [way.ack(100)]);
        // Now it is known to be there.
        assert_eq!(way.send_and_wait(&mut bench, 100, 100), [way.ack(200)]);
    }
}

#[test]
fn copies_of_what_is_not_acknowledged_are_not_answered_either() {
    for way in WAYS {
        let mut bench = Bench::split();
        bench.wait(5000);
        for _ in 0..10 {
            assert_eq!(way.send(&mut bench, 0, 100).to(way.from), [""; 0]);
            assert_eq!(bench.wait(1000).to(way.from), [""; 0]);
        }
    }
}

/// With data under way, too: silence begins a little more than a second after the last answer.
#[test]
fn an_end_that_goes_in_the_midst_of_a_transfer_is_spoken_for_no_longer() {
    for way in WAYS {
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

/// All of its data is acknowledged, and it asks whether the other end is there.
#[test]
fn a_keepalive_is_answered_when_the_end_that_it_asks_for_has_answered() {
    for way in WAYS {
        let mut bench = Bench::split();
        assert_eq!(way.send_and_wait(&mut bench, 0, 100), [way.ack(100)]);
        bench.wait(5000);
        // The other end has not got the data: this is no question that passes.
        for _ in 0..5 {
            let asked = way.send(&mut bench, 99, 0);
            assert_eq!((asked.is_forwarded(), asked.to(way.from).len()), (false, 0));
            assert_eq!(bench.wait(1000).to(way.from), [""; 0]);
        }
        assert_eq!(way.answer(&mut bench, 100).to(way.from), [way.ack(100)]);
    }
}

/// Its window is closed, its host is there, and window probes have backed off.
#[test]
fn an_end_that_does_not_read_is_asked_at_once() {
    for way in WAYS {
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

/// Outages of a hop that end within a second are none of a sender's business.
#[test]
fn a_short_outage_shows_nowhere() {
    let way = &WAYS[0];
    let mut bench = Bench::split();
    assert_eq!(way.send_and_wait(&mut bench, 0, 100), [way.ack(100)]);
    assert_eq!(way.send_and_wait(&mut bench, 100, 100), [way.ack(200)]);
}

/// What asks for a loss says nothing in the other end's name.
#[test]
fn a_loss_is_asked_for_at_once() {
    for way in WAYS {
        let mut bench = Bench::split();
        bench.wait(5000);
        for at in [100, 200, 300] {
            assert_eq!(way.send(&mut bench, at, 100).to(way.from), [way.ack(0)]);
        }
        // With the gap filled there is something to acknowledge.
        assert_eq!(way.send(&mut bench, 0, 100).to(way.from), [""; 0]);
        assert_eq!(way.answer(&mut bench, 400).to(way.from), [way.ack(400)]);
    }
}
