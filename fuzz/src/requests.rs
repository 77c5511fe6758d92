//! What other programs ask of a gateway or an emulation.

use std::net::SocketAddr;
use std::path::PathBuf;

use lasthop_live::emulator::control::parse_assignments;
use lasthop_live::gateway::control::{Command, parse_flow, read_question};
use lasthop_live::gateway::http;
use lasthop_packet::Protocol;
use lasthop_scenario::{FurtherFiles, Overrides, Settings};

/// A question to the gateway is refused with what was expected, or the same when it is written and
/// read again.
pub fn gateway_question(data: &[u8]) {
    match read_question(data) {
        Err(why) => assert!(why.contains("expected a line such as"), "{why}"),
        Ok(command) => {
            let line = serde_json::to_vec(&command).expect("it can be written");
            assert_eq!(read_question(&line).as_ref(), Ok(&command));
            if let Command::Aside { flow } = &command {
                connection(flow);
            }
        }
    }
    if let Ok(text) = str::from_utf8(data) {
        connection(text);
    }
}

/// A connection is refused in a short sentence, or the same when it is written and read again.
fn connection(text: &str) {
    match parse_flow(text) {
        Err(why) => {
            assert!(why.contains("is not a connection; expected two endpoints") && why.len() < 1500, "{why}");
        }
        Ok(flow) => {
            let [one, other] = [flow.source, flow.destination].map(SocketAddr::from);
            let protocol = match flow.protocol {
                Protocol::Tcp => "",
                Protocol::Udp => "udp:",
            };
            assert_eq!(parse_flow(&format!("{protocol}{one}-{other}")), Ok(flow));
        }
    }
}

/// A request to change links is refused with a reason and changes nothing, or all of it is in
/// force.
pub fn link_changes(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let assignments = match parse_assignments(&lines) {
        Ok(assignments) => assignments,
        Err(why) => return assert!(why.contains("expected KEY=VALUE"), "{why}"),
    };
    let overrides = Overrides::default();
    let settings =
        Settings::parse(EMULATED.to_owned(), "swept-scenario.toml".to_owned(), PathBuf::new(), &overrides);
    let mut settings = settings.expect("it is right");
    let before = settings.scenario().clone();
    match settings.set(&assignments, FurtherFiles::None) {
        Err(error) => {
            assert!(!error.problem.is_empty());
            assert!(
                before.changes_of_links(settings.scenario()).is_empty(),
                "refused, and in force: {error}"
            );
        }
        Ok(old) => {
            assert!(before.changes_of_links(&old).is_empty());
            let changed = settings.scenario().clone();
            settings.set(&assignments, FurtherFiles::None).expect("what was set can be set again");
            assert!(changed.changes_of_links(settings.scenario()).is_empty());
            changed.build(&changed.schemes[0], 1).expect("reading has built it once");
        }
    }
}

const EMULATED: &str = include_str!("../corpus/swept-scenario.toml");

/// Whatever comes over HTTP has one answer, and only GET of a page the page. A request that is
/// whole stays so.
pub fn http_request(data: &[u8]) {
    let Some((piece, request)) = data.split_first() else { return };
    let start = &request[..usize::from(*piece).min(request.len())];
    assert!(!http::is_whole(start) || http::is_whole(request));
    let mut pages = 0;
    let answer = http::answer(request, http::Host::Local, |path| {
        pages += 1;
        (path == "/metrics").then(|| "figures\n".to_owned())
    });
    assert!(pages <= 1, "{pages} pages");
    let answer = String::from_utf8(answer).expect("answers are text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let mut lines = head.split("\r\n");
    let status = lines.next().expect("a status line");
    let code = status.strip_prefix("HTTP/1.1 ").and_then(|status| status.split(' ').next());
    assert!(["200", "400", "404", "405", "421", "431"].contains(&code.unwrap_or_default()), "{status}");
    assert_eq!(code == Some("200"), body == "figures\n", "{answer}");
    assert!(code != Some("200") || request.starts_with(b"GET /metrics HTTP/1."), "{answer}");
    assert!(lines.any(|line| line == format!("Content-Length: {}", body.len())), "{answer}");
}
