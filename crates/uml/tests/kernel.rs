//! Real kernels in simulated time. Each test runs a guest whose first program is this one.
//!
//! `LASTHOP_KERNEL` names a Linux kernel that was built for user mode; more of them, separated by commas, are tried
//! one after the other.

mod wire;

#[path = "kernel/init.rs"]
mod init;

use std::env;
use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use lasthop_linux::addresses::without_randomization;
use lasthop_needs::{program, tests, user_mode_kernel};
use lasthop_packet::Instant;
use lasthop_uml::{Calendar, DeviceId, End, Kernel, Net, Settings};
use wire::{Link, Record};

fn main() -> ExitCode {
    if std::process::id() == 1 {
        init::run();
    }
    lasthop_needs::run(tests! {
        [user_mode_kernel, ip, fixed_addresses]:
            two_runs_have_the_same_frames_at_the_same_times,
            guests_that_share_the_time_in_memory_do_the_same_as_those_that_ask;
        [user_mode_kernel, ip]:
            a_round_trip_takes_what_the_wire_says,
            two_guests_reach_each_other,
            a_guest_that_panics_is_reported_with_its_console,
            a_guest_that_spins_is_reported_and_leaves_no_process;
    })
}

fn ip() -> Result<(), String> {
    program("ip")
}

fn fixed_addresses() -> Result<(), String> {
    without_randomization(|| {}).map_err(|error| format!("needs programs at fixed addresses ({error})"))
}

/// The kernels to be tried.
fn kernels() -> Vec<String> {
    let kernels = env::var("LASTHOP_KERNEL").expect("the tests need it");
    kernels.split(',').map(str::to_owned).collect()
}

/// A guest whose first program is this one, in that role, with two devices.
fn guest(kernel: &str, role: &str, number: u8) -> Kernel {
    let this = env::current_exe().expect("a path");
    let mut guest = Kernel::new(kernel, this);
    // Parameters that the kernel does not know are the environment of its first program.
    guest.parameters.extend(["PATH=/usr/sbin:/usr/bin:/sbin:/bin".to_owned(), format!("role={role}")]);
    guest.environment.push(("UML_SEED".into(), "7".into()));
    for device in 1..=2 {
        guest.devices.push(Box::new(Net::new([2, 0, 0, 0, number, device])));
    }
    guest
}

/// What a run showed: its frames, and the end of its console.
struct Run {
    frames: Vec<Record>,
    console: String,
    messages: lasthop_uml::Messages,
}

fn run(kernel: &str, role: &str, mut link: Link, shares_time: bool) -> Run {
    let settings = Settings { shares_time, ..Settings::default() };
    let mut calendar = Calendar::start(vec![guest(kernel, role, 0)], settings).expect("it starts");
    let end = calendar.run(&mut link, Instant::from_secs(300)).unwrap_or_else(|error| panic!("{error}"));
    let console = calendar.console(0).expect("a guest");
    assert_eq!(end, End::Guests, "{console}");
    Run { frames: link.into_records(), console, messages: calendar.messages() }
}

/// The numbers behind a word on the console.
fn numbers(console: &str, word: &str) -> Vec<u64> {
    let of_line = |line: &str| line.strip_prefix(word)?.trim().parse().ok();
    let numbers: Vec<u64> = console.lines().filter_map(of_line).collect();
    assert!(!numbers.is_empty(), "no {word} on the console:\n{console}");
    numbers
}

fn ten_milliseconds() -> Link {
    Link::between_devices(10_000_000, None)
}

fn a_round_trip_takes_what_the_wire_says() {
    for kernel in kernels() {
        let run = run(&kernel, "echo", ten_milliseconds(), true);
        // The program reads the clock before and after, which costs 256 ns each time.
        for time in numbers(&run.console, "round trip") {
            assert!((20_000_000..20_005_000).contains(&time), "{time} ns, {kernel}");
        }
    }
}

fn two_runs_have_the_same_frames_at_the_same_times() {
    for kernel in kernels() {
        let link = || Link::between_devices(25_000_000, Some(10_000_000)).losing(10, 1);
        let (first, second) = (run(&kernel, "tcp", link(), true), run(&kernel, "tcp", link(), true));
        assert!(first.frames.len() > 1000, "{} frames, {kernel}", first.frames.len());
        let differs = first.frames.iter().zip(&second.frames).position(|(first, second)| first != second);
        if let Some(at) = differs {
            panic!("frame {at} at {:?} and {:?}, {kernel}", first.frames[at].time, second.frames[at].time);
        }
        assert_eq!((first.frames.len(), first.console), (second.frames.len(), second.console));
    }
}

fn guests_that_share_the_time_in_memory_do_the_same_as_those_that_ask() {
    for kernel in kernels() {
        let link = || Link::between_devices(25_000_000, Some(10_000_000));
        let (shared, asked) = (run(&kernel, "tcp", link(), true), run(&kernel, "tcp", link(), false));
        assert!(shared.frames == asked.frames, "{kernel}");
        assert!(shared.messages.time <= asked.messages.time, "{:?} {:?}", shared.messages, asked.messages);
    }
}

fn two_guests_reach_each_other() {
    for kernel in kernels() {
        let guests = vec![guest(&kernel, "client", 0), guest(&kernel, "server", 1)];
        let mut link = Link::between_guests(10_000_000);
        let mut calendar = Calendar::start(guests, Settings::default()).expect("they start");
        let end = calendar.run(&mut link, Instant::from_secs(60)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(end, End::Guests);
        let console = calendar.console(0).expect("the first");
        for time in numbers(&console, "round trip") {
            assert!((20_000_000..20_005_000).contains(&time), "{time} ns, {kernel}");
        }
        let counts = calendar.counts(DeviceId { guest: 1, device: 0 }).expect("a device");
        assert!(counts.received >= 5 && counts.sent >= 5, "{counts:?}");
    }
}

fn a_guest_that_panics_is_reported_with_its_console() {
    for kernel in kernels() {
        let guest = guest(&kernel, "nonsense", 0);
        let mut calendar = Calendar::start(vec![guest], Settings::default()).expect("it starts");
        let error = calendar.run(&mut ten_milliseconds(), Instant::from_secs(60)).expect_err("it panics");
        let text = error.to_string();
        assert!(text.contains("its process ended") && text.contains("no such role"), "{text}");
    }
}

fn a_guest_that_spins_is_reported_and_leaves_no_process() {
    for kernel in kernels() {
        let settings = Settings { patience: Duration::from_secs(1), ..Settings::default() };
        let mut calendar = Calendar::start(vec![guest(&kernel, "spin", 0)], settings).expect("it starts");
        let group = calendar.process(0).expect("a guest");
        let error = calendar.run(&mut ten_milliseconds(), Instant::from_secs(60)).expect_err("it spins");
        assert!(error.to_string().contains("it has sent nothing for 1s"), "{error}");
        assert!(members(group) > 1, "the kernel's process, and one for its first program");
        drop(calendar);
        while members(group) > 0 {
            thread::yield_now();
        }
    }
}

/// The processes of a group that have not ended.
fn members(group: u32) -> usize {
    let processes =
        fs::read_dir("/proc").expect("proc").map(|entry| entry.expect("an entry").path().join("stat"));
    let is_member = |stat: &String| {
        let fields: Vec<&str> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
        // State, parent, group.
        fields[0] != "Z" && fields[2] == group.to_string()
    };
    processes.filter_map(|path| fs::read_to_string(path).ok()).filter(is_member).count()
}
