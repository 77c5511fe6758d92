use std::sync::mpsc::channel;

use lasthop_agent::LinkSenses;

use super::*;
use crate::config;
use crate::io::Fault;
use crate::io::memory::Memory;

#[test]
fn a_turn_answers_at_most_one_page_of_connections() {
    let plan = config::parse("", "test", LinkSenses::empty()).expect("it is right").plan;
    let mut io = Memory::new(Vec::new());
    let (requests, inbox) = channel();
    let mut packets = PacketLoop::new(&mut io, &plan, inbox, Notifier::default(), LoopReport::default());
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
fn a_loop_whose_ports_lose_frames_does_not_beat_until_they_work_again() {
    let plan = config::parse("", "test", LinkSenses::empty()).expect("it is right").plan;
    let memory = Memory::new(Vec::new());
    let mut io = memory.clone();
    let (_requests, inbox) = channel();
    let mut packets = PacketLoop::new(&mut io, &plan, inbox, Notifier::default(), LoopReport::default());
    let faults = |faults: &[(&str, bool)]| {
        let fault = |(what, loses_frames): &(&str, bool)| Fault {
            what: (*what).to_owned(),
            loses_frames: *loses_frames,
        };
        memory.set_faults(faults.iter().map(fault).collect());
    };
    faults(&[("the interface wlan1 has disappeared", false)]);
    assert!(packets.turn().expect("memory works"));
    let beat = memory.last_heartbeat();
    assert!(beat.is_some(), "the others work");
    faults(&[("the device lasthop0 is down", true)]);
    for _ in 0..3 {
        assert!(packets.turn().expect("memory works"));
    }
    assert_eq!(memory.last_heartbeat(), beat);
    let report = packets.make_report(clock::now());
    assert_eq!((report.punctuality.is_out, report.punctuality.steps_out), (true, 1));
    assert_eq!(report.faults, ["the device lasthop0 is down"]);
    faults(&[]);
    while memory.last_heartbeat() == beat {
        assert!(packets.turn().expect("memory works"));
    }
    assert!(packets.make_report(clock::now()).faults.is_empty());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a loop that is away takes real time")]
fn a_loop_that_was_away_does_not_take_traffic_at_once() {
    let plan = config::parse("", "test", LinkSenses::empty()).expect("it is right").plan;
    let memory = Memory::new(Vec::new());
    let mut io = memory.clone();
    let (_requests, inbox) = channel();
    let mut packets = PacketLoop::new(&mut io, &plan, inbox, Notifier::default(), LoopReport::default());
    thread::sleep(Duration::from_millis(70));
    assert!(packets.turn().expect("memory works"));
    assert_eq!(memory.last_heartbeat(), None);
    let report = packets.make_report(clock::now()).punctuality;
    assert_eq!((report.is_out, report.steps_out), (true, 1));
}
