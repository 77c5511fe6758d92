//! Measures a TCP transfer in a guest: `transfer KERNEL [ask|share] [OCTETS] [RUNS] [LOSS] [PARAMETER...]`, over 10 Mbit/s
//! and 50 ms in both directions together, with this number of a thousand frames lost.

#![allow(clippy::print_stdout, reason = "it prints what it has measured")]

#[path = "../tests/kernel/init.rs"]
mod init;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/wire/mod.rs"]
mod wire;

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_uml::{Calendar, Kernel, Net, Settings};
use wire::Link;

fn main() {
    if std::process::id() == 1 {
        init::run();
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let argument = |at: usize, default: &str| arguments.get(at).cloned().unwrap_or(default.to_owned());
    let runs: u32 = argument(3, "1").parse().expect("a number");
    let loss: u64 = argument(4, "0").parse().expect("a number");
    for _ in 0..runs {
        let this = env::current_exe().expect("a path");
        let mut guest = Kernel::new(argument(0, "linux"), this);
        guest.parameters.push("PATH=/usr/sbin:/usr/bin:/sbin:/bin".to_owned());
        guest.parameters.extend([format!("octets={}", argument(2, "10000000")), "role=tcp".to_owned()]);
        guest.parameters.extend(arguments.iter().skip(5).cloned());
        guest.environment.push(("UML_SEED".into(), "7".into()));
        for device in 1..=2 {
            guest.devices.push(Box::new(Net::new([2, 0, 0, 0, 0, device])));
        }
        let settings = Settings {
            shares_time: argument(1, "share") == "share",
            processor: Some(lasthop_uml::processor::current()),
            ..Settings::default()
        };
        let start = clock::now();
        let mut calendar = Calendar::start(vec![guest], settings).expect("it starts");
        let mut link = Link::between_devices(25_000_000, Some(10_000_000)).losing(loss, 1);
        let before = cpu();
        let end = calendar.run(&mut link, Instant::from_secs(3600)).unwrap_or_else(|error| panic!("{error}"));
        let (wall, after) = (clock::now().since(start), cpu());
        let messages = calendar.messages();
        let records = link.into_records();
        let mut hasher = DefaultHasher::new();
        for record in &records {
            (record.time, record.device, &record.frame).hash(&mut hasher);
        }
        println!(
            "{end:?} {} simulated {:.3} s, wall {:.3} s, cpu {} + guest {} ms, {} frames, {messages:?}, trace {:x}",
            calendar.console(0).unwrap_or_default().replace('\n', " "),
            calendar.now().as_secs_f64(),
            wall.as_secs_f64(),
            after[0] - before[0],
            after[1] - before[1],
            records.len(),
            hasher.finish(),
        );
    }
}

/// Milliseconds of processor time: of this process, and of its children that have ended.
fn cpu() -> [u64; 2] {
    let stat = fs::read_to_string("/proc/self/stat").expect("proc");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
    let sum =
        |at: usize| [at, at + 1].map(|at| fields[at].parse::<u64>().expect("a number")).iter().sum::<u64>();
    // In hundredths of a second, from the fields utime and cutime on.
    [sum(11) * 10, sum(13) * 10]
}
