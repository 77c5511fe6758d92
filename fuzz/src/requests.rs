//! What other programs ask of a gateway.

use std::net::SocketAddr;

use lasthop_gateway::control::{Command, parse_flow, read_question};
use lasthop_gateway::http;
use lasthop_packet::Protocol;

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
