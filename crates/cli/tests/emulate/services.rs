//! What the command reaches through the hop, and what a capture has of it.

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use crate::machine::{Machine, port_of, read_from, say_hello, text};

pub fn a_service_of_this_machine_is_reached_by_its_name_through_the_link_of_the_flags() {
    let machine = Machine::new();
    let listener = machine.listen("0.0.0.0:0");
    let client = format!("echo $LASTHOP_LINK; {}", read_from(port_of(&listener)));
    let server = std::thread::spawn(move || say_hello(&listener));
    let output = machine.emulate(&["--rate", "10mbit", "--delay", "100ms", "--", "bash", "-c", &client]);
    assert_eq!(text(&output.stdout), "rate 10mbit, delay 100ms\nhello\n", "{}", text(&output.stderr));
    let took = server.join().expect("it has served");
    assert!(took >= Duration::from_millis(200), "{took:?} for a round trip");
}

pub fn a_service_on_the_loopback_device_is_reached_on_request() {
    let machine = Machine::new();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = machine.listen(address);
        let client = read_from(port_of(&listener));
        let output = machine.emulate(&["--delay", "1ms", "--", "bash", "-c", &client]);
        assert!(text(&output.stderr).contains("Connection refused"), "{address}: {}", text(&output.stderr));
        let server = std::thread::spawn(move || say_hello(&listener));
        let output = machine.emulate(&["--delay", "1ms", "--localhost", "--", "bash", "-c", &client]);
        assert_eq!(text(&output.stdout), "hello\n", "{address}: {}", text(&output.stderr));
        server.join().expect("it has served");
    }
}

pub fn a_capture_has_each_packet_at_both_ends() {
    let machine = Machine::new();
    let listener = machine.listen("0.0.0.0:0");
    let client = read_from(port_of(&listener));
    let server = std::thread::spawn(move || say_hello(&listener));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("run.pcapng");
    let name = file.to_str().expect("UTF-8");
    let output = machine.emulate(&["--delay", "1ms", "--pcap", name, "--", "bash", "-c", &client]);
    assert_eq!(text(&output.stdout), "hello\n", "{}", text(&output.stderr));
    server.join().expect("it has served");
    let octets = std::fs::read(&file).expect("it was written");
    assert!(octets.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    let count = |text: &[u8]| octets.windows(text.len()).filter(|window| *window == text).count();
    assert_eq!([&b"near:hop"[..], b"far:hop", b"hello\n"].map(count), [1, 1, 2]);
}

/// Answers a question for an address with 192.0.2.7 (RFC 1035, section 4).
pub fn answer(question: &[u8]) -> Vec<u8> {
    // The question ends with its name's last label, a type and a class.
    let name = question[12..].iter().position(|octet| *octet == 0).expect("the root");
    let mut answer = question[..12 + name + 5].to_vec();
    answer[2..4].copy_from_slice(&[0x81, 0x80]);
    answer[6..12].copy_from_slice(&[0, 1, 0, 0, 0, 0]);
    answer.extend_from_slice(&[0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
    answer
}

pub fn a_resolver_on_the_loopback_device_is_asked_through_the_hop() {
    let machine = Machine::new();
    let resolver = machine.0.enter(|| UdpSocket::bind("127.0.0.53:53")).expect("enter").expect("a free port");
    let server = std::thread::spawn(move || {
        let mut question = [0; 512];
        let (len, from) = resolver.recv_from(&mut question).expect("a question");
        resolver.send_to(&answer(&question[..len]), from).expect("somebody waits");
    });
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("resolv.conf");
    std::fs::write(&file, "nameserver 127.0.0.53\n").expect("a writable directory");
    let run = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
    let ask = ["emulate", "--delay", "1ms", "--as-root", "--", "getent", "ahostsv4", "name.example"];
    let start = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", run]).arg(&file).arg(env!("CARGO_BIN_EXE_lasthop"));
        command.args(ask).output()
    };
    let output = machine.0.enter(start).expect("enter").expect("it is there");
    assert!(text(&output.stdout).starts_with("192.0.2.7 "), "{}", text(&output.stderr));
    server.join().expect("it has answered");
}
