//! The parts that guests play.

#![allow(clippy::print_stdout, reason = "the console is a part of it")]

use std::os::fd::AsFd;

use lasthop_uml::time::Operation;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use super::guest::{BASE, Device, SIZE, Time, table, words};

const MS: u64 = 1_000_000;
const NEVER: u64 = i64::MAX as u64;

/// Plays a part. What it expects, it checks: if it panics, its calendar reports so.
pub fn play(part: &str) {
    match part {
        "exchange" => exchange(Time::start()),
        "sharing-exchange" => exchange(Time::start_shared()),
        "turns-from-3-ms" => turns(&[(3, Some(5)), (5, None), (9, Some(11)), (13, Some(113))]),
        "turns-from-5-ms" => turns(&[(5, Some(9)), (7, Some(9)), (11, Some(13))]),
        "no-buffers" => no_buffers(),
        "never" => {
            let mut time = Time::start();
            time.request(NEVER);
            time.wait(&mut []);
        }
        "late" => {
            let mut time = Time::start();
            time.request(20_000 * MS);
            assert_eq!(time.wait(&mut []), 20_000 * MS);
        }
        "print-in-silence" | "print-and-let-time-pass" => print_much(part),
        "ahead-when-interrupted" => run_ahead(),
        "hang-after-kick" | "hang" | "die" | "ask-forever" | "nonsense" | "backwards" | "too-far"
        | "get-before-start" | "run" | "answer" | "close" => misbehave(part),
        _ => misuse(part),
    }
}

/// Sends a frame at 6 ms, which comes back on the other device at 16 ms.
fn exchange(mut time: Time) {
    assert_eq!(time.ask(Operation::TimeOfDay, 0), 1_767_225_600_000 * MS);
    let mut sender = Device::set_up(&mut time, 0);
    let mut receiver = Device::set_up(&mut time, 1);
    receiver.offer_buffer(1, 60);
    time.request(5 * MS);
    assert_eq!(time.wait(&mut []), 5 * MS);
    assert_eq!(time.limit(), Some(105 * MS), "the longest turn");

    // Its own clock goes on to 6 ms. What it sends then ends its turn, before the kick is acknowledged.
    time.update(6 * MS);
    // No interrupt when the frame has left.
    sender.put(&[7; 60]);
    sender.suppress_interrupts();
    sender.kick(&mut time, 1);
    assert_eq!(sender.used(1).0, 1);
    assert_eq!(time.limit(), Some(16 * MS));
    time.request(30 * MS);
    assert_eq!(time.wait(&mut [&mut sender, &mut receiver]), 16 * MS);
    assert_eq!(receiver.interrupts, [(16 * MS, 0)]);
    assert_eq!(sender.interrupts, []);
    assert_eq!(receiver.used(0), (1, 1), "one buffer is used, and new ones are not reported");
    assert_eq!(receiver.frame(1, 60), [7; 60]);
}

/// Runs at these times, each until that time, or without leave to go on.
fn turns(turns: &[(u64, Option<u64>)]) {
    let mut time = Time::start();
    for &(start, end) in turns {
        time.request(start * MS);
        assert_eq!(time.wait(&mut []), start * MS);
        assert_eq!(time.free_until, end.map(|end| end * MS), "at {start} ms");
    }
}

/// Two frames of three arrive when there are buffers; one is longer than the buffer.
fn no_buffers() {
    let mut time = Time::start();
    let mut sender = Device::set_up(&mut time, 0);
    let mut receiver = Device::set_up(&mut time, 1);
    sender.suppress_interrupts();
    for length in [60, 100, 61] {
        sender.put(&vec![7; length]);
        sender.kick(&mut time, 1);
    }
    time.request(20 * MS);
    assert_eq!(time.wait(&mut [&mut sender, &mut receiver]), 20 * MS);
    assert_eq!(receiver.used(0), (0, 0), "new buffers are to be reported");
    time.update(21 * MS);
    receiver.offer_buffer(1, 80);
    receiver.kick(&mut time, 0);
    assert_eq!(time.limit(), Some(21 * MS), "it waits for its interrupt");
    time.request(30 * MS);
    assert_eq!(time.wait(&mut [&mut sender, &mut receiver]), 21 * MS);
    assert_eq!((receiver.used(0).0, receiver.frame(1, 60)), (1, vec![7; 60]));
    receiver.offer_buffer(2, 80);
    receiver.kick(&mut time, 0);
    time.request(30 * MS);
    assert_eq!(time.wait(&mut [&mut sender, &mut receiver]), 21 * MS);
    assert_eq!((receiver.used(0), receiver.frame(2, 61)), ((2, 1), vec![7; 61]));
    assert_eq!(receiver.interrupts, [(21 * MS, 0), (21 * MS, 0)]);
}

/// Prints more than its console may have, without a request of a device.
fn print_much(part: &str) {
    let mut time = Time::start();
    if part == "print-in-silence" {
        println!("{}", "x".repeat(5000));
        hang();
    }
    for turn in 1.. {
        println!("{}", "x".repeat(100));
        time.request(turn * MS);
        time.wait(&mut []);
    }
}

/// Waits at 5 ms, with leave to go on until 105 ms. When an interrupt comes, it goes on.
fn run_ahead() {
    let mut time = Time::start();
    let mut device = Device::set_up(&mut time, 1);
    device.offer_buffer(1, 60);
    time.request(5 * MS);
    time.wait(&mut []);
    assert_eq!(time.limit(), Some(105 * MS));
    time.request(20_000 * MS);
    time.ask(Operation::Wait, 0);
    device.take_call();
    time.update(100 * MS);
    hang();
}

/// What is wrong on a time socket.
fn misbehave(part: &str) {
    if part == "get-before-start" {
        Time::connect().ask(Operation::Get, 0);
        return;
    }
    let mut time = Time::start();
    match part {
        "hang-after-kick" => {
            // As a healthy kernel does at each start.
            println!("Failed to initialize ubd device 0 :Couldn't determine size of device's file");
            let mut device = Device::set_up(&mut time, 0);
            device.put(&[7; 60]);
            device.kick(&mut time, 1);
        }
        "hang" => {
            time.request(5);
            hang();
        }
        "die" => {
            time.get();
            println!("farewell");
            std::process::exit(3);
        }
        "ask-forever" => loop {
            time.get();
        },
        "nonsense" => time.send_octets(&[77; 16]),
        "backwards" => {
            time.request(5 * MS);
            time.wait(&mut []);
            time.update(6 * MS);
            time.send(Operation::Update, 5 * MS);
        }
        "too-far" => {
            time.request(5 * MS);
            time.wait(&mut []);
            time.send(Operation::Update, 106 * MS);
        }
        "run" => time.send(Operation::Run, 0),
        "answer" => time.send_octets(&[[0, 0, 0, 0, 9, 0, 0, 0], [0; 8]].concat()),
        "close" => drop(time),
        _ => unreachable!("it is listed"),
    }
    hang();
}

/// What is wrong with a device.
fn misuse(part: &str) {
    let mut time = Time::start();
    match part {
        "jump" | "loop" | "outside" => {
            let mut device = Device::set_up(&mut time, 0);
            match part {
                "jump" => device.set_available(1, 9),
                "loop" => {
                    device.describe(1, 0, (BASE, 1, 1, 0));
                    device.offer(1, 0);
                }
                _ => {
                    device.describe(1, 0, (BASE + SIZE - 59, 60, 0, 0));
                    device.offer(1, 0);
                }
            }
            device.kick(&mut time, 1);
        }
        _ => {
            let (mut device, calls) = Device::connect(0);
            device.negotiate(&mut time, calls.as_fd());
            let memory = memfd_create("memory", MemfdFlags::CLOEXEC).expect("memory");
            ftruncate(&memory, 4096).expect("memory");
            let (request, payload) = match part {
                "unknown-features" => (2, (1_u64 << 32 | 1).to_le_bytes().to_vec()),
                "no-order" => (16, 0x228_u64.to_le_bytes().to_vec()),
                "third-queue" => (8, words(&[2, 8])),
                "too-much-memory" => (5, table(BASE, (1 << 20) + 4096, 0)),
                "short-file" => (5, table(BASE, 4096, 4096)),
                "no-descriptors" => (5, table(BASE, 4096, 0)),
                "early" => {
                    device.send(&mut time, 2, &(1_u64 << 32 | 1 << 30).to_le_bytes(), &[]);
                    (18, words(&[1, 1]))
                }
                other => unreachable!("no part {other}"),
            };
            let files = [memory.as_fd()];
            let has_file = matches!(part, "too-much-memory" | "short-file");
            device.send(&mut time, request, &payload, if has_file { &files } else { &[] });
        }
    }
    hang();
}

fn hang() {
    // Its calendar kills it.
    loop {
        std::thread::park();
    }
}
