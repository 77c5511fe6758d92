use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use lasthop_agent::LinkSenses;
use serde_json::{Value, json};

use super::*;
use crate::config;
use crate::engine::Engine;
use crate::link::LinkReport;
use crate::punctuality::PunctualityReport;
use lasthop_linux::processor::KeptWaiting;

fn status(file: &Path) -> Status {
    let config = config::parse("", "test", LinkSenses::empty()).expect("it is right");
    let port = |name: &str, side| Port { name: name.to_owned(), side, ethernet: true, copies_of: None };
    // As with tc-bpf: a radio interface has a port on each side.
    let ports = [port("eth0", Side::Core), port("wlan0", Side::Core), port("wlan0", Side::Radio)];
    let punctuality =
        PunctualityReport { kept_waiting: Some(KeptWaiting::default()), ..PunctualityReport::default() };
    let report = LoopReport {
        punctuality,
        notes: vec!["one".to_owned()],
        link: Some(LinkReport::default()),
        engine: Engine::new(&ports, &config.plan).report(),
        ..LoopReport::default()
    };
    Status::new(Some(file), Backend::TcBpf, &ports, report)
}

/// Gives each number a different value.
fn fill(value: &mut Value, next: &mut u64) {
    *next += 1;
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, next)),
        Value::Object(entries) => entries.values_mut().for_each(|entry| fill(entry, next)),
        Value::Number(number) if number.is_f64() => *value = json!(*next as f64 + 0.5),
        Value::Number(_) => *value = json!(*next),
        Value::Bool(_) => *value = json!(true),
        Value::Null | Value::String(_) => {}
    }
}

#[test]
fn a_client_reads_the_complete_status_of_a_gateway_of_its_version() {
    let mut sent = serde_json::to_value(status(Path::new("/etc/gateway.toml"))).expect("it can be written");
    let interfaces = [json!({ "name": "eth0", "side": "core" }), json!({ "name": "wlan0", "side": "radio" })];
    assert_eq!(sent["ports"], json!(interfaces));
    assert_eq!((&sent["backend"], &sent["file"]), (&json!("tc-bpf"), &json!("/etc/gateway.toml")));
    assert_eq!(sent["report"]["engine"]["rules"][0]["recipe"], "snoop");
    let mut figures = 0;
    fill(&mut sent, &mut figures);
    assert!(figures > 80, "{figures}");
    let read: Status = serde_json::from_value(sent.clone()).expect("it was written so");
    assert_eq!(serde_json::to_value(read).expect("it can be written"), sent);
}

#[test]
fn each_interface_appears_once_with_its_side() {
    let port = |name: &str, side| Port { name: name.to_owned(), side, ethernet: true, copies_of: None };
    let sides = |ports: &[Port]| -> Vec<(String, String)> {
        PortStatus::from_ports(ports).into_iter().map(|port| (port.name, port.side)).collect()
    };
    let by_bpf = [Side::Core, Side::Radio, Side::Core].map(|side| port("wlan0", side));
    assert_eq!(sides(&by_bpf), [("wlan0".to_owned(), "radio".to_owned())]);
}

#[test]
fn a_newer_gateway_may_report_more_and_an_older_one_less() {
    let rule = json!({ "name": "web", "counters": { "seen": 3, "of_a_newer_scheme": 4, "by_hour": [5] } });
    let sent = json!({ "ok": {
        "version": "9.9.9",
        "backend": "xdp",
        "ports": [{ "name": "wlan0", "side": "radio", "speed": 5 }],
        "report": { "sent": 7, "mood": "good", "engine": { "counters": { "received": 8 }, "rules": [rule] } },
        "neighbours": {},
    } });
    let Ok(Answer::Ok(Status { file, backend, report, .. })) = serde_json::from_value(sent) else {
        panic!("it is readable")
    };
    assert_eq!((file, backend.as_str(), report.sent, report.lost), (None, "xdp", 7, 0));
    assert_eq!((report.engine.counters.counts.received, report.engine.connections), (8, 0));
    assert_eq!(report.engine.rules[0].counters.packets.seen, 3);
    assert_eq!(report.engine.rules[0].counters.reported.sum(), 0);

    let without_ports = json!({ "ok": { "version": "0.0.1", "backend": "tun", "report": {} } });
    let error = serde_json::from_value::<Answer<Status>>(without_ports).expect_err("a part is missing");
    assert!(error.to_string().contains("missing field `ports`"), "{error}");
}

#[test]
fn a_file_name_that_is_not_utf_8_is_reported_with_replacement_characters() {
    let name = Path::new(OsStr::from_bytes(b"/etc/gateway-\xff.toml"));
    let sent = Answer::Ok(status(name)).line();
    let Ok(Answer::Ok(status)) = serde_json::from_slice::<Answer<Status>>(&sent) else {
        panic!("{}", String::from_utf8_lossy(&sent))
    };
    assert_eq!(status.file.as_deref(), Some("/etc/gateway-\u{fffd}.toml"));
}

#[test]
fn every_command_with_an_unknown_key_is_refused() {
    for known in [
        json!({ "command": "status" }),
        json!({ "command": "flows" }),
        json!({ "command": "flows", "filter": ["443"], "sort": "age_s", "reverse": true, "limit": 5 }),
        json!({ "command": "clients" }),
        json!({ "command": "reload" }),
        json!({ "command": "drain" }),
        json!({ "command": "aside", "flow": "192.0.2.1:443-10.0.0.7:50000" }),
    ] {
        let read = |question: &Value| read_question((question.to_string() + "\n").as_bytes());
        assert!(read(&known).is_ok(), "{known}");
        let mut unknown = known.clone();
        unknown["when"] = json!("later");
        let error = read(&unknown).expect_err("it may mean less than was asked");
        assert!(error.contains("when"), "{error}");
    }
    assert!(read_question(b"{\"command\":\"status\",\"command\":\"drain\"}\n").is_err(), "which of them?");
}

#[cfg(feature = "roaming")]
#[test]
fn a_client_that_associates_is_named_by_its_address() {
    let joined = br#"{"command":"client-joined","client":"02:00:00:00:00:07","from":"hall"}"#;
    let client = MacAddress([2, 0, 0, 0, 0, 7]);
    let expected = Command::ClientJoined { client, from: Some("hall".to_owned()) };
    assert_eq!(read_question(joined), Ok(expected));
    let left = br#"{"command":"client-left","client":"02:00:00:00:00:07"}"#;
    assert_eq!(read_question(left), Ok(Command::ClientLeft { client }));
    let group = br#"{"command":"client-left","client":"ff:ff:ff:ff:ff:ff"}"#;
    let why = read_question(group).expect_err("it is no station");
    assert!(why.contains("is not a client's MAC address"), "{why}");
}
