//! What Wireshark makes of a run's capture.

use std::process::{Command, ExitCode};

use lasthop_needs::tests;
use tempfile::TempDir;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [tshark]: a_capture_of_any_link_is_one_that_tshark_finds_no_fault_with;
        [tshark]: a_reset_that_a_link_made_has_a_comment_and_no_other_packet_has;
    })
}

fn tshark() -> Result<(), String> {
    lasthop_needs::program("tshark")
}

const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/small.toml");

fn a_capture_of_any_link_is_one_that_tshark_finds_no_fault_with() {
    let folder = TempDir::new().expect("a temporary directory");
    let capture = folder.path().join("run.pcapng");
    let run = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(["run", SMALL, "--scheme", "refined-icmp", "--pcap"])
        .arg(&capture)
        .output()
        .expect("the command starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let tshark = Command::new("tshark")
        .arg("-r")
        .arg(&capture)
        .args(["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields"])
        .args(["-e", "ip.checksum.status", "-e", "tcp.checksum.status", "-e", "icmp.checksum.status"])
        .args(["-e", "_ws.malformed", "-e", "icmp.type", "-e", "frame.interface_name"])
        .output()
        .expect("it is installed");
    assert!(tshark.status.success(), "{}", String::from_utf8_lossy(&tshark.stderr));
    let text = String::from_utf8(tshark.stdout).expect("UTF-8");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert!(rows.len() > 500);
    let mut messages = 0;
    for row in &rows {
        // 1 is "good"; an ICMP message has its own and that of the header it quotes.
        assert!(row[0].split(',').all(|status| status == "1" || status == "2"), "{row:?}");
        assert!(row[0].starts_with('1') && row[3].is_empty(), "{row:?}");
        match row[4] {
            "" => assert_eq!(row[1], "1", "{row:?}"),
            kind => {
                messages += 1;
                assert_eq!((kind, row[2]), ("253", "1"), "{row:?}");
            }
        }
    }
    assert!(messages > 0, "refined ICMP sent its messages");
    for interface in ["server:wire", "base:wire", "base:air", "phone:air"] {
        assert!(rows.iter().any(|row| row[5] == interface), "{interface}");
    }
}

fn a_reset_that_a_link_made_has_a_comment_and_no_other_packet_has() {
    let folder = TempDir::new().expect("a temporary directory");
    let (scenario, capture) = (folder.path().join("cut.toml"), folder.path().join("cut.pcapng"));
    let changes = "[[changes]]\nat = \"0.5 s\"\nset = { \"links.wire.connections\" = \"reset\" }\n";
    let small = std::fs::read_to_string(SMALL).expect("a file");
    // Both resets are still to come in.
    let small = small.replacen("duration = \"60 s\"", "duration = \"2 s\"\nstop-when-done = false", 1);
    std::fs::write(&scenario, format!("{small}\n{changes}")).expect("a file");
    let mut run = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    let run = run.arg("run").arg(&scenario).args(["--scheme", "none", "--pcap"]).arg(&capture).output();
    let run = run.expect("the command starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let tshark = Command::new("tshark")
        .arg("-r")
        .arg(&capture)
        .args(["-Y", "frame.comment && frame.interface_name != \"dropped\"", "-T", "fields"])
        .args(["-e", "frame.interface_name", "-e", "tcp.flags.reset", "-e", "frame.comment"])
        .output()
        .expect("it is installed");
    let text = String::from_utf8(tshark.stdout).expect("UTF-8").replace("True", "1");
    let comment = "made by the link: its connection is cut";
    for interface in ["server:wire", "base:wire"] {
        assert!(text.contains(&format!("{interface}\t1\t{comment}")), "{text}");
    }
    assert!(text.lines().all(|line| line.ends_with(&format!("\t1\t{comment}"))), "{text}");
}
