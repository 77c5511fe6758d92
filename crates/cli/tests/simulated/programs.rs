//! Programs at both ends of a link.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::{kernel, output};

/// The command behind a link of 10 Mbit/s and 20 ms.
fn emulate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.args(["emulate", "--time", "simulated", "--kernel", &kernel(), "--rate", "10mbit"]);
    command.args(["--delay", "20ms"]).args(arguments);
    command
}

/// As [`emulate`], for a line of the shell, without summary.
fn shell(line: &str) -> Command {
    emulate(&["--quiet", "--", "sh", "-c", line])
}

fn texts(output: &Output) -> (String, String) {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What a command has printed, which must succeed.
fn printed(command: &mut Command) -> String {
    let output = output(command);
    let (printed, complaint) = texts(&output);
    assert!(output.status.success(), "{complaint}");
    printed
}

pub fn the_exit_code_is_that_of_the_command() {
    for (line, code) in [("true", 0), ("exit 7", 7), ("kill -9 $$", 128 + 9), ("kill -15 $$", 128 + 15)] {
        assert_eq!(output(&mut shell(line)).status.code(), Some(code), "{line}");
    }
    let output = output(&mut emulate(&["--", "./no-such-program"]));
    let (_, complaint) = texts(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint.contains("cannot run ./no-such-program"), "{complaint}");
}

pub fn the_output_of_a_command_is_neither_mixed_nor_lost() {
    let line = "i=0; while [ $i -lt 3000 ]; do echo out $i; echo err $i >&2; i=$((i + 1)); done";
    let (printed, complaint) = texts(&output(&mut shell(line)));
    let lines =
        |word: &str| (0..3000).map(|number| format!("{word} {number}\n")).collect::<Vec<_>>().concat();
    assert!(printed == lines("out"), "{}", printed.len());
    assert!(complaint == lines("err"), "{}", complaint.len());
    // More than the buffers on the way hold, all at one time.
    let many = 20_000_000;
    let output = output(&mut shell(&format!("head -c {many} /dev/zero")));
    assert!(output.stdout.len() == many && output.stdout.iter().all(|octet| *octet == 0));
}

pub fn standard_input_reaches_the_command_octet_by_octet() {
    let octets: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
    let mut input = tempfile::tempfile().expect("a temporary file");
    input.write_all(&octets).and_then(|()| std::io::Seek::rewind(&mut input)).expect("room for it");
    let copy = output(shell("cat").stdin(input));
    assert!(copy.stdout == octets, "{} octets", copy.stdout.len());
    let without = output(shell("cat").stdin(Stdio::null()));
    assert!(without.status.success() && without.stdout.is_empty());
}

pub fn a_command_whose_reader_has_gone_ends() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = shell("yes").stdout(writer).status().expect("it starts");
    assert_eq!(status.code(), Some(128 + 13));
}

pub fn files_are_read_only_but_where_the_user_lets_programs_write() {
    let folder = tempfile::TempDir::new().expect("a temporary directory");
    let at = |name: &str| folder.path().join(name);
    for name in ["open", "closed"] {
        fs::create_dir(at(name)).expect("a writable directory");
    }
    fs::write(at("here"), "of this machine\n").expect("a writable directory");
    // Not below /tmp, where all may write for the time of the run.
    let elsewhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-written");
    let line = format!(
        "cat here; echo kept > open/file; echo lost > closed/file; cat closed/file; echo no > {} || echo refused",
        elsewhere.display()
    );
    let mut command = emulate(&["--quiet", "--writable", "open", "--", "sh", "-c", &line]);
    assert_eq!(printed(command.current_dir(folder.path())), "of this machine\nlost\nrefused\n");
    assert_eq!(fs::read_to_string(at("open/file")).expect("it was written"), "kept\n");
    assert!(!at("closed/file").exists() && !elsewhere.exists());
}

pub fn programs_at_the_far_end_begin_before_the_command_and_end_after_it() {
    let at_far = "trap 'echo end at far; exit' TERM; echo start at far; while :; do sleep 0.1; done";
    let mut command = emulate(&["--quiet", "--far", at_far, "--far", "exec sleep 100000", "--"]);
    let (printed, complaint) = texts(&output(command.args(["sh", "-c", "echo command >&2; sleep 2"])));
    let order: Vec<&str> = complaint.lines().filter(|line| *line != "Terminated").collect();
    assert_eq!(order, ["start at far", "command", "end at far"], "{printed}");
}

pub fn a_program_at_the_far_end_that_fails_is_an_error() {
    let output = output(&mut emulate(&["--far", "echo why >&2; exit 3", "--", "echo", "started"]));
    let (printed, complaint) = texts(&output);
    assert_eq!((output.status.code(), printed.as_str()), (Some(1), ""));
    assert!(complaint.starts_with("why\n") && complaint.contains("has ended before"), "{complaint}");
}

pub fn a_command_that_takes_too_long_is_ended() {
    let folder = tempfile::TempDir::new().expect("a temporary directory");
    let capture = folder.path().join("a.pcapng").display().to_string();
    let options = ["--limit", "1h", "--pcap", &capture, "--", "sh", "-c", "echo begun; sleep 36000"];
    let ended = output(&mut emulate(&options));
    let (printed, complaint) = texts(&ended);
    assert_eq!((ended.status.code(), printed.as_str()), (Some(1), "begun\n"));
    assert!(complaint.contains("--limit") && complaint.contains("packets in"), "{complaint}");
    assert!(fs::metadata(&capture).is_ok_and(|file| file.len() > 0), "what was captured is kept");
    let quiet = output(&mut emulate(&["--quiet", "--limit", "1s", "--", "sleep", "2"]));
    assert_eq!((quiet.status.code(), texts(&quiet).1.contains("--limit")), (Some(1), true));
}

pub fn a_program_at_the_far_end_that_fails_during_the_run_is_named() {
    let run = output(&mut emulate(&["--far", "sleep 3; exit 4", "--", "sleep", "5"]));
    let (_, complaint) = texts(&run);
    assert_eq!(run.status.code(), Some(0), "{complaint}");
    assert!(
        complaint.contains("--far \"sleep 3; exit 4\" has ended before the command: exit status: 4"),
        "{complaint}"
    );
}

pub fn a_program_that_leaves_its_host_ends_with_the_run() {
    let ended = output(&mut shell("unshare -n sleep 36000 & sleep 1; exit 3"));
    assert_eq!(ended.status.code(), Some(3), "{}", texts(&ended).1);
}

/// A server that sends 2 MB to each client, and a client that prints how long that took.
const SERVER: &str = "exec python3 -c 'import socket
server = socket.create_server((\"\", 8000))
while True:
    client = server.accept()[0]
    client.sendall(bytes(2000000))
    client.close()'";
const CLIENT: &str = "import socket, time
begin = time.monotonic()
server = socket.create_connection((\"host.lasthop\", 8000))
octets, half = 0, None
while more := server.recv(65536):
    octets += len(more)
    if octets > 1000000 and not half:
        half = (octets, time.monotonic())
end = time.monotonic()
print(octets, end - begin, (octets - half[0]) / (end - half[1]))";

/// Downloads, and returns what the client prints.
fn download(arguments: &[&str]) -> String {
    printed(emulate(arguments).args(["--quiet", "--far", SERVER, "--", "python3", "-c", CLIENT]))
}

/// The seconds of a download, and the octets per second of its second half.
fn figures(printed: &str) -> (f64, f64) {
    let (octets, figures) = printed.trim().split_once(' ').expect("three numbers");
    assert_eq!(octets, "2000000");
    let (seconds, rate) = figures.split_once(' ').expect("three numbers");
    let number = |figure: &str| figure.parse().expect("a number");
    (number(seconds), number(rate))
}

pub fn a_run_repeats_to_the_last_octet_of_its_packets() {
    let folder = tempfile::TempDir::new().expect("a temporary directory");
    let run = |name: &str, seed: &str| {
        let file = folder.path().join(name).display().to_string();
        let printed = download(&["--loss", "1%", "--seed", seed, "--pcap", &file]);
        (printed, fs::read(file).expect("a capture"))
    };
    let (one, same, other) = (run("one", "1"), run("same", "1"), run("other", "2"));
    assert_eq!(one.0, same.0);
    assert!(one.1 == same.1 && one.1.len() > 4_000_000, "{} and {} octets", one.1.len(), same.1.len());
    assert_ne!(one.0, other.0, "another seed loses other packets");
}

pub fn a_transfer_has_the_rate_of_the_link() {
    let (_, rate) = figures(&download(&[]));
    // 1500 octets on the link carry 1448 of data.
    let rate = rate * 8.0 * 1500.0 / 1448.0;
    println!("{:.2} Mbit/s on a link of 10 Mbit/s", rate / 1e6);
    assert!((9.7e6..10.1e6).contains(&rate), "{rate}");
}

pub fn a_link_changes_at_times_from_the_start_of_the_command() {
    let (seconds, _) = figures(&download(&["--at", "0.5s", "rate=1mbit"]));
    // Less than 625,000 octets in the first half of a second, the rest at 1 Mbit/s.
    assert!((11.0..17.0).contains(&seconds), "{seconds}");
}
