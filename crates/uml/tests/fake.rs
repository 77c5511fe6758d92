//! The protocols, step by step, with guests that are no kernels: this program takes a kernel's place, and plays a part
//! that its environment names.

#[allow(dead_code, reason = "the guests that are kernels use the rest")]
mod wire;

#[path = "fake/guest.rs"]
mod guest;
#[path = "fake/parts.rs"]
mod parts;

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use lasthop_needs::tests;
use lasthop_packet::Instant;
use lasthop_uml::{Calendar, DeviceId, End, Error, Kernel, Limits, Net};
use wire::Link;

fn main() -> ExitCode {
    if let Ok(part) = env::var("LASTHOP_PART") {
        parts::play(&part);
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
            a_run_in_which_nothing_can_happen_is_stuck,
            a_run_ends_at_the_given_time;
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

fn limits() -> Limits {
    // Nothing here takes long, but the machine may be busy.
    Limits {
        patience: Duration::from_secs(60),
        steps_at_one_time: 2000,
        shares_time: false,
        ..Limits::default()
    }
}

fn calendar(parts: &[&str], limits: Limits) -> Calendar {
    Calendar::start(parts.iter().map(|part| guest(part)).collect(), limits).expect("they start")
}

fn link() -> Link {
    Link::between_devices(10_000_000, None)
}

/// Runs these parts to their ends; what they expect, they check.
fn play(parts: &[&str], limits: Limits) -> (Calendar, Link) {
    let (mut calendar, mut link) = (calendar(parts, limits), link());
    let end = calendar.run(&mut link, Instant::from_secs(10)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(end, End::Guests);
    (calendar, link)
}

fn a_guest_boots_kicks_is_interrupted_and_ends() {
    let (calendar, link) = play(&["exchange"], limits());
    let records = link.into_records();
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].time, records[0].frame.len()), (Instant::from_millis(6), 60));
    let counts = calendar.counts(DeviceId { guest: 0, device: 1 }).expect("a device");
    assert_eq!(counts.received, 1);
}

fn a_guest_that_shares_the_time_in_memory_does_the_same_with_fewer_messages() {
    let (asks, first) = play(&["exchange"], limits());
    let (shares, second) = play(&["sharing-exchange"], Limits { shares_time: true, ..limits() });
    assert_eq!(first.into_records(), second.into_records());
    assert!(shares.messages().time < asks.messages().time, "{:?}", shares.messages());
    // One that has never heard of it goes on as before.
    play(&["exchange"], Limits { shares_time: true, ..limits() });
}

fn the_requests_of_other_guests_end_a_turn() {
    play(&["turns-from-3-ms", "turns-from-5-ms"], limits());
}

fn frames_wait_for_buffers() {
    let (calendar, _) = play(&["no-buffers"], limits());
    let counts = calendar.counts(DeviceId { guest: 0, device: 1 }).expect("a device");
    assert_eq!((counts.received, counts.too_long), (2, 1));
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
        let text = failure(part, limits()).to_string();
        assert!(text.contains(expected), "{part}: {text}");
    }
}

fn a_guest_that_misbehaves_is_reported_with_what_it_did_last() {
    let impatient = Limits { patience: Duration::from_millis(100), ..limits() };
    for (part, limits, expected) in [
        ("hang", impatient, "nothing for 100ms; its last message: Request 5 ns; its console is empty"),
        (
            "die",
            limits(),
            "its process ended (exit status: 3); its last message: Get; the end of its console:\nfarewell",
        ),
        ("ask-forever", limits(), "2001 messages, and its time stands still; its last message: Get"),
        ("nonsense", limits(), "operation 1296911693"),
        ("backwards", limits(), "ran backwards"),
        ("too-far", limits(), "may not pass"),
        ("get-before-start", limits(), "START comes first"),
        ("run", limits(), "only a calendar sends"),
        ("answer", limits(), "an answer with sequence number 9"),
        ("close", limits(), "closed its time socket"),
    ] {
        let text = failure(part, limits).to_string();
        assert!(text.contains(expected), "{part}: {text}");
    }
}

fn failure(part: &str, limits: Limits) -> Error {
    calendar(&[part], limits).run(&mut link(), Instant::from_secs(10)).expect_err("it breaks a rule")
}

fn a_run_in_which_nothing_can_happen_is_stuck() {
    let error = failure("never", limits());
    assert!(matches!(error, Error::Stuck(now) if now == Instant::ZERO), "{error}");
}

fn a_run_ends_at_the_given_time() {
    let mut calendar = calendar(&["late"], limits());
    let end = calendar.run(&mut link(), Instant::from_secs(10)).expect("a rightful guest");
    assert_eq!((end, calendar.now()), (End::Time, Instant::ZERO));
    // And can go on.
    let end = calendar.run(&mut link(), Instant::from_secs(30)).expect("a rightful guest");
    assert_eq!((end, calendar.now()), (End::Guests, Instant::from_secs(20)));
}
