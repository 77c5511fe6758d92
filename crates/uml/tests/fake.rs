//! The protocols, step by step, with guests that are no kernels: this program takes a kernel's place, and plays a part
//! that its environment names.

#[allow(dead_code, reason = "the guests that are kernels use the rest")]
mod wire;

#[path = "fake/guest.rs"]
mod guest;
#[path = "fake/parts.rs"]
mod parts;

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use lasthop_needs::tests;
use lasthop_packet::Instant;
use lasthop_uml::{Calendar, DeviceId, End, Error, Frames, Kernel, Net, Settings, Wire};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use wire::Link;

fn main() -> ExitCode {
    if let Ok(part) = env::var("LASTHOP_PART") {
        match &*part {
            "parent" => be_a_parent(),
            part => parts::play(part),
        }
        return ExitCode::SUCCESS;
    }
    lasthop_needs::run(tests! {
        []:
            a_guest_boots_kicks_is_interrupted_and_ends,
            a_guest_that_shares_the_time_in_memory_does_the_same_with_fewer_messages,
            the_requests_of_other_guests_end_a_turn,
            frames_wait_for_buffers,
            a_device_is_used_only_as_it_was_negotiated,
            a_guest_that_misbehaves_is_reported_with_what_it_did_last,
            a_guest_that_prints_too_much_is_stopped_whatever_else_it_does,
            a_guest_that_is_interrupted_does_not_run_ahead,
            a_run_in_which_nothing_can_happen_is_stuck,
            a_run_ends_at_the_given_time,
            a_guest_dies_with_the_process_that_has_started_it;
    })
}

fn guest(part: &str) -> Kernel {
    let mut kernel = Kernel::new(env::current_exe().expect("a path"), "/init");
    kernel.memory = 1 << 20;
    kernel.environment.push(("LASTHOP_PART".into(), part.into()));
    for number in 1..=2 {
        kernel.devices.push(Box::new(Net::new([2, 0, 0, 0, 0, number])));
    }
    kernel
}

fn settings() -> Settings {
    // Nothing here takes long, but the machine may be busy.
    Settings {
        patience: Duration::from_secs(60),
        steps_at_one_time: 2000,
        shares_time: false,
        ..Settings::default()
    }
}

fn calendar(parts: &[&str], settings: Settings) -> Calendar {
    Calendar::start(parts.iter().map(|part| guest(part)).collect(), settings).expect("they start")
}

fn link() -> Link {
    Link::between_devices(10_000_000, None)
}

/// Runs these parts to their ends; what they expect, they check.
fn play(parts: &[&str], settings: Settings) -> (Calendar, Link) {
    let (mut calendar, mut link) = (calendar(parts, settings), link());
    let end = calendar.run(&mut link, Instant::from_secs(10)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(end, End::Guests);
    (calendar, link)
}

fn a_guest_boots_kicks_is_interrupted_and_ends() {
    let (calendar, link) = play(&["exchange"], settings());
    let records = link.into_records();
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].time, records[0].frame.len()), (Instant::from_millis(6), 60));
    let counts = calendar.counts(DeviceId { guest: 0, device: 1 }).expect("a device");
    assert_eq!(counts.received, 1);
}

fn a_guest_that_shares_the_time_in_memory_does_the_same_with_fewer_messages() {
    let (asks, first) = play(&["exchange"], settings());
    let (shares, second) = play(&["sharing-exchange"], Settings { shares_time: true, ..settings() });
    assert_eq!(first.into_records(), second.into_records());
    assert!(shares.messages().time < asks.messages().time, "{:?}", shares.messages());
    // One that has never heard of it goes on as before.
    play(&["exchange"], Settings { shares_time: true, ..settings() });
}

fn the_requests_of_other_guests_end_a_turn() {
    play(&["turns-from-3-ms", "turns-from-5-ms"], settings());
}

fn frames_wait_for_buffers() {
    let (calendar, _) = play(&["no-buffers"], settings());
    let counts = calendar.counts(DeviceId { guest: 0, device: 1 }).expect("a device");
    assert_eq!((counts.received, counts.too_long), (2, 1));
    let losses: Vec<_> = calendar.losses().collect();
    let expected = "1 to the guest, which were longer than its buffers".to_owned();
    assert_eq!(losses, [(DeviceId { guest: 0, device: 1 }, expected)]);
}

fn a_device_is_used_only_as_it_was_negotiated() {
    for (part, expected) in [
        ("unknown-features", "features 0x100000001"),
        ("no-order", "needed are 0x4028"),
        ("third-queue", "queue 2"),
        ("too-much-memory", "at most 1048576"),
        ("short-file", "4096 octets at 4096 of a file of 4096"),
        ("no-descriptors", "1 descriptors came with fewer or more"),
        ("jump", "went from 0 to 9"),
        ("loop", "a chain of descriptors loops"),
        ("outside", "are not in the guest's memory"),
        ("early", "before it has addresses"),
    ] {
        let text = failure(part, settings()).to_string();
        assert!(text.contains(expected), "{part}: {text}");
    }
}

fn a_guest_that_misbehaves_is_reported_with_what_it_did_last() {
    let impatient = Settings { patience: Duration::from_millis(100), ..settings() };
    for (part, settings, expected) in [
        (
            "hang-after-kick",
            impatient,
            "its last message: the driver of its device 0 says that there is something new in queue 1; its console is empty",
        ),
        (
            "hang",
            impatient,
            "nothing for 100ms; its last message: it asks to run at 5 ns; its console is empty",
        ),
        (
            "die",
            settings(),
            "its process ended (exit status: 3); its last message: it asks for the time; the end of its console:\nfarewell",
        ),
        (
            "ask-forever",
            settings(),
            "2001 messages, and its time stands still; its last message: it asks for the time",
        ),
        ("nonsense", settings(), "operation 1296911693"),
        ("backwards", settings(), "ran backwards"),
        ("too-far", settings(), "may not pass"),
        ("get-before-start", settings(), "START comes first"),
        ("run", settings(), "only a calendar sends"),
        ("answer", settings(), "an answer with sequence number 9"),
        ("close", settings(), "closed its time socket"),
    ] {
        let text = failure(part, settings).to_string();
        assert!(text.contains(expected), "{part}: {text}");
    }
}

fn a_guest_that_prints_too_much_is_stopped_whatever_else_it_does() {
    let settings = Settings { console: 4096, ..settings() };
    for part in ["print-in-silence", "print-and-let-time-pass"] {
        let text = failure(part, settings).to_string();
        assert!(text.contains("its console has more than 4096 octets"), "{part}: {text}");
    }
}

fn a_guest_that_is_interrupted_does_not_run_ahead() {
    let (mut calendar, mut link) = (calendar(&["ahead-when-interrupted"], settings()), link());
    let end = calendar.run(&mut link, Instant::from_secs(10)).expect("a rightful guest until then");
    assert_eq!((end, calendar.now()), (End::Time, Instant::from_millis(5)));
    // What the wire has not announced: the guest has leave until 105 ms.
    let sender = DeviceId { guest: 0, device: 0 };
    link.on_frame(calendar.now(), sender, &[7; 60], &mut Frames::default());
    let error = calendar.run(&mut link, Instant::from_secs(10)).expect_err("it runs ahead").to_string();
    assert!(error.contains("shows 0.100000 s, and may not pass 0.015000 s"), "{error}");
}

fn failure(part: &str, settings: Settings) -> Error {
    calendar(&[part], settings).run(&mut link(), Instant::from_secs(10)).expect_err("it breaks a rule")
}

fn a_run_in_which_nothing_can_happen_is_stuck() {
    let error = failure("never", settings());
    assert!(matches!(error, Error::Stuck(now) if now == Instant::ZERO), "{error}");
}

fn a_run_ends_at_the_given_time() {
    let mut calendar = calendar(&["late"], settings());
    let end = calendar.run(&mut link(), Instant::from_secs(10)).expect("a rightful guest");
    assert_eq!((end, calendar.now()), (End::Time, Instant::ZERO));
    // And can go on.
    let end = calendar.run(&mut link(), Instant::from_secs(30)).expect("a rightful guest");
    assert_eq!((end, calendar.now()), (End::Guests, Instant::from_secs(20)));
}

fn a_guest_dies_with_the_process_that_has_started_it() {
    let mut parent = Command::new(env::current_exe().expect("a path"))
        .env("LASTHOP_PART", "parent")
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program");
    let mut line = String::new();
    BufReader::new(parent.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let guest = Pid::from_raw(line.trim().parse().expect("a number")).expect("a process");
    let end = pidfd_open(guest, PidfdFlags::empty()).expect("it runs");
    // By a signal that it cannot handle.
    parent.kill().expect("a child");
    parent.wait().expect("a child");
    poll(&mut [PollFd::new(&end, PollFlags::IN)], None).expect("its end");
}

/// Starts a guest, says which, and waits.
#[allow(clippy::print_stdout, reason = "another process reads it")]
fn be_a_parent() {
    let calendar = calendar(&["hang"], settings());
    println!("{}", calendar.process(0).expect("a guest"));
    loop {
        thread::park();
    }
}
