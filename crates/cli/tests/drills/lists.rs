//! Who is there, and what they carry.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::alone;
use crate::hosts::{Daemon, Pulse, Site, soon};

/// `lasthop gateway` with these words, about a daemon.
fn ask(daemon: &Daemon, words: &[&str]) -> Output {
    let socket = daemon.socket();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.arg("gateway").args(words).arg("--socket").arg(socket).stdin(Stdio::null());
    command.output().expect("it runs")
}

fn said(daemon: &Daemon, words: &[&str]) -> String {
    let Output { status, stdout, stderr } = ask(daemon, words);
    assert!(status.success(), "{words:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("UTF-8")
}

fn rows(daemon: &Daemon, words: &[&str]) -> Vec<Value> {
    serde_json::from_str(&said(daemon, words)).expect("a list")
}

pub fn commands_show_what_clients_and_connections_carry_while_they_live() {
    let _alone = alone();
    let (site, _hop) = Site::lossy(1);
    let daemon = Daemon::start(&site.gateway, "clients = 4\n[[rule]]\nscheme = \"snoop\"\n");
    let pulses = [10, 50].map(|pause| Pulse::at_pace(&site, 16 * 1024, Duration::from_millis(pause)));
    soon(|| {
        let clients = rows(&daemon, &["clients", "--json"]);
        let lost = clients.first().and_then(|client| client["lost_down"].as_u64()).unwrap_or_default();
        if lost > 5 { Ok(()) } else { Err(format!("few losses: {clients:?}")) }
    });
    let carried = |row: &Value| row["octets_down"].as_u64().expect("a number");
    let [client] = &rows(&daemon, &["clients", "--json"])[..] else { panic!("one client") };
    assert_eq!((&client["connections"], &client["connections_now"]), (&2.into(), &2.into()), "{client}");
    assert!(carried(client) > 0 && client.get("lost_down_percent").is_some(), "{client}");
    let address = client["client"].as_str().expect("an address");

    let flows = rows(&daemon, &["flows", "--json", "--sort", "down", "--filter", address, "tcp", "down>0"]);
    let octets: Vec<u64> = flows.iter().filter_map(|flow| flow["octets_from_core"].as_u64()).collect();
    assert!(octets.len() == 2 && octets[0] >= octets[1], "{octets:?}");
    assert_eq!(rows(&daemon, &["flows", "--json", "--limit", "1"]).len(), 1);
    assert_eq!(rows(&daemon, &["flows", "--json", "--filter", "opening"]).len(), 0);
    let csv = said(&daemon, &["clients", "--csv", "--top", "1"]);
    assert!(csv.starts_with("client,connections,") && csv.lines().count() == 2, "{csv}");
    for columns in [60, 80] {
        for list in ["flows", "clients"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
            command.args(["gateway", list, "--socket"]).arg(daemon.socket());
            let output = command.env("COLUMNS", columns.to_string()).output().expect("it runs");
            let table = String::from_utf8(output.stdout).expect("UTF-8");
            assert!(table.lines().all(|line| line.chars().count() <= columns), "{table}");
            assert!(table.contains("loss") && table.contains(address), "{table}");
        }
    }
    let top = said(&daemon, &["top", "--once"]);
    eprintln!("{}\n{top}", said(&daemon, &["clients"]));
    assert!(top.contains("lasthop gateway") && top.contains(address) && top.contains("repairs/s"), "{top}");
    let top = said(&daemon, &["top", "--once", "--by", "connection", "--limit", "1"]);
    assert!(top.contains("10.77.1.2:5000"), "{top}");

    for wrong in [
        &["flows", "--sort", "mood"][..],
        &["flows", "--filter", "establishd"],
        &["top", "--once", "--by", "connection", "--filter", "rule=snop"],
        &["clients", "--filter", "443"],
        &["flows", "--limit", "0"],
    ] {
        assert_eq!(ask(&daemon, wrong).status.code(), Some(2), "{wrong:?}");
    }
    // What a connection carried stays counted when it ends, and through a reload.
    let before = carried(&rows(&daemon, &["clients", "--json"])[0]);
    for pulse in pulses {
        pulse.end();
    }
    daemon.write("clients = 2\n[[rule]]\nscheme = \"none\"\n");
    said(&daemon, &["reload"]);
    let client = &rows(&daemon, &["clients", "--json"])[0];
    assert!(carried(client) >= before && client["connections"] == 2, "{client}");
    daemon.write("[[rule]]\nscheme = \"snoop\"\n");
    said(&daemon, &["reload"]);
    let refused = ask(&daemon, &["clients"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("clients are not counted"));
}
