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
