use std::sync::mpsc::channel;

use lasthop_agent::LinkSenses;

use super::*;
use crate::gateway::config;
use crate::io::memory::Memory;

#[test]
fn a_turn_answers_one_page_of_connections_and_goes_on_with_packets() {
    let plan = config::parse("", "test", LinkSenses::empty()).expect("it is right").plan;
    let mut io = Memory::new(Vec::new());
    let (requests, inbox) = channel();
    let mut packets = PacketLoop::new(&mut io, &plan, inbox, Notifier::default(), Vec::new());
    let (to, answers) = channel();
    for _ in 0..5 {
        requests.send(Request::Flows(0, to.clone())).expect("it listens");
    }
    for turn in 1..=5 {
        assert!(packets.turn().expect("memory works"));
        assert_eq!(answers.try_iter().count(), 1, "turn {turn}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a loop that is away takes real time")]
fn a_loop_that_was_away_does_not_take_traffic_at_once() {
    let plan = config::parse("", "test", LinkSenses::empty()).expect("it is right").plan;
    let memory = Memory::new(Vec::new());
    let mut io = memory.clone();
    let (_requests, inbox) = channel();
    let mut packets = PacketLoop::new(&mut io, &plan, inbox, Notifier::default(), Vec::new());
    thread::sleep(Duration::from_millis(70));
    assert!(packets.turn().expect("memory works"));
    assert_eq!(memory.last_heartbeat(), None);
    let report = packets.make_report(clock::now()).punctuality;
    assert_eq!((report.is_out, report.steps_out), (true, 1));
}
